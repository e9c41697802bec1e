"""Our statistics against other people's code, on random tables.

statsmodels, scikit-learn, krippendorff, ppi_py and scipy compute each of these in a way of their own; where they take
another small-sample factor the comment says which.
"""

from __future__ import annotations

import krippendorff
import numpy as np
import pandas as pd
import ppi_py
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from numpy.testing import assert_allclose
from scipy import stats as scipy_stats
from sklearn import metrics
from statsmodels.discrete.conditional_models import ConditionalLogit
from statsmodels.genmod.cov_struct import Independence
from statsmodels.genmod.families import Binomial, Gaussian
from statsmodels.stats import inter_rater
from statsmodels.stats.contingency_tables import mcnemar as their_mcnemar
from statsmodels.stats.multitest import multipletests

from biaslens.stats import (
    Clusters,
    Coefficient,
    agreement,
    clustered_mean,
    clustered_rate,
    cohen_kappa,
    components,
    fleiss_kappa,
    holm,
    krippendorff_alpha,
    mcnemar,
    prediction_powered,
    raw_agreement,
    verdict_accuracy,
    weighted_share,
)
from biaslens.stats.comparison import clustered_permutation_p, permutation_p, swap_p
from biaslens.stats.resampling import Sums, bootstrap, mean

SEEDS = range(12)
each_seed = pytest.mark.parametrize("seed", SEEDS)


def clustered(seed, most=15):
    """Answers of 0 and 1 that cluster, in clusters of unequal size: what they are, and their clusters."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, most, rng.integers(8, 40))
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    return (rng.random(len(clusters)) < rng.beta(2, 4, len(sizes))[clusters]).astype(float), clusters


def ratings(seed, raters, categories, missing):
    """Ratings that agree more often than not."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(categories, size=(rng.integers(20, 120), 1))
    table = np.where(rng.random((len(truth), raters)) < 0.6, truth, rng.integers(categories, size=(len(truth), raters)))
    return np.where(rng.random(table.shape) < missing, -1, table)


# Rates and means


@each_seed
def test_clustered_rate_is_that_of_logistic_gee(seed):
    answers, clusters = clustered(seed)
    fit = sm.GEE(answers, np.ones((len(answers), 1)), clusters, cov_struct=Independence(), family=Binomial()).fit()
    count = clusters.max() + 1
    rate = clustered_rate(np.bincount(clusters, answers).astype(int), np.bincount(clusters))
    share = 1 / (1 + np.exp(-fit.params[0]))
    assert_allclose(rate, share, rtol=1e-6)
    # Robust errors of GEE are on the logit scale, and without R / (R - 1).
    assert_allclose(rate.standard_error, fit.bse[0] * share * (1 - share) * np.sqrt(count / (count - 1)), rtol=1e-5)


@each_seed
def test_clustered_mean_is_that_of_gaussian_gee_and_of_least_squares(seed):
    answers, clusters = clustered(seed)
    values = answers - np.random.default_rng(seed).random(len(answers))
    count, ones = clusters.max() + 1, np.ones((len(values), 1))
    found = clustered_mean(values, clusters)
    gee = sm.GEE(values, ones, clusters, cov_struct=Independence(), family=Gaussian()).fit()
    assert_allclose(
        [found, found.standard_error], [gee.params[0], gee.bse[0] * np.sqrt(count / (count - 1))], rtol=1e-7
    )
    ols = sm.OLS(values, ones).fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
    # Fewer degrees of freedom than R - 1 where few clusters make up most of the variance.
    assert found.p >= ols.pvalues[0] * (1 - 1e-9)


@each_seed
def test_weighted_share_has_the_error_of_clustered_weighted_least_squares(seed):
    answers, clusters = clustered(seed)
    weights = np.random.default_rng(seed).uniform(0.5, 5, len(answers))
    found = weighted_share(answers, weights=weights, clusters=clusters)
    fit = sm.WLS(answers, np.ones(len(answers)), weights=weights).fit(
        cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True
    )
    # R / (R - 1) * (N - 1) / (N - 1): the same factor.
    assert_allclose([found, found.standard_error], [fit.params[0], fit.bse[0]], rtol=1e-9)


@each_seed
def test_bootstrap_has_the_standard_error_of_scipy(seed):
    values = np.random.default_rng(seed).exponential(size=60)
    ours = bootstrap(mean(values, np.arange(60), 60, of="no value"), rounds=4000, seed=seed)
    theirs = scipy_stats.bootstrap((values,), np.mean, n_resamples=4000, rng=np.random.default_rng(seed + 99))
    # Ours is widened by n / (n - 1); two bootstraps of 4,000 rounds differ by 1.6 % (one standard error).
    assert_allclose(ours.standard_error, theirs.standard_error * np.sqrt(60 / 59), rtol=0.06)


@pytest.mark.parametrize("seed", range(3))
def test_variance_components_are_those_of_a_mixed_model(seed):
    # In a design with equal numbers, the analysis of variance gives what restricted maximum likelihood gives.
    rng = np.random.default_rng(seed)
    share = np.clip(0.5 + rng.normal(0, 0.2, (40, 1, 1)) + rng.normal(0, 0.2, (40, 5, 1)), 0.02, 0.98)
    table = (rng.random((40, 5, 4)) < share).astype(int)
    found = components(table.reshape(200, 4), Clusters(np.repeat(np.arange(40), 5)))
    role, question, _ = np.indices(table.shape)
    frame = pd.DataFrame({"y": table.ravel(), "role": role.ravel(), "question": question.ravel()})
    model = smf.mixedlm("y ~ 1", frame, groups="role", re_formula="1", vc_formula={"question": "0 + C(question)"})
    fit = model.fit(reml=True)
    theirs = [fit.cov_re.iloc[0, 0], fit.vcomp[0], fit.scale]
    assert_allclose([found.role, found.question, found.trial], theirs, rtol=0.01, atol=1e-4)


# Agreement


@each_seed
def test_cohen_kappa_is_that_of_scikit_learn(seed):
    table = ratings(seed, 2, 3, 0.0)
    weights = np.random.default_rng(seed).uniform(0.2, 4, len(table))
    assert_allclose(cohen_kappa(table), metrics.cohen_kappa_score(*table.T), rtol=1e-10)
    weighted = agreement(table, Coefficient.COHEN, weights=weights, rounds=10)
    assert_allclose(weighted, metrics.cohen_kappa_score(*table.T, sample_weight=weights), rtol=1e-10)


@each_seed
def test_the_standard_error_of_kappa_is_that_of_statsmodels(seed):
    table = ratings(seed, 2, 2, 0.0)
    items = len(table)
    theirs = inter_rater.cohens_kappa(np.bincount(2 * table[:, 0] + table[:, 1], minlength=4).reshape(2, 2))
    found = agreement(table, Coefficient.COHEN, rounds=10)
    assert_allclose(found.standard_error, theirs.std_kappa * np.sqrt(items / (items - 1)), rtol=1e-9)


@each_seed
@pytest.mark.parametrize("raters", [2, 5])
def test_alpha_is_that_of_krippendorff_with_ratings_missing(seed, raters):
    table = ratings(seed, raters, 4, 0.3)
    theirs = krippendorff.alpha(np.where(table < 0, np.nan, table).T, level_of_measurement="nominal")
    assert_allclose(krippendorff_alpha(table), theirs, rtol=1e-9)


@each_seed
def test_fleiss_kappa_is_that_of_statsmodels(seed):
    table = ratings(seed, 4, 3, 0.0)
    counts, _ = inter_rater.aggregate_raters(table, n_cat=3)
    assert_allclose(fleiss_kappa(table), inter_rater.fleiss_kappa(counts), rtol=1e-10)


@each_seed
def test_raw_agreement_of_two_is_accuracy(seed):
    table = ratings(seed, 2, 3, 0.0)
    assert_allclose(raw_agreement(table), metrics.accuracy_score(*table.T))


# Verdicts and labels


@each_seed
def test_accuracy_of_verdicts_is_that_of_scikit_learn(seed):
    truth, verdict = ratings(seed, 2, 2, 0.0).T
    weights = np.random.default_rng(seed).uniform(0.2, 4, len(truth))
    found = verdict_accuracy(truth, verdict, weights=weights)
    given = (truth, verdict)
    assert_allclose(found.agreement, metrics.accuracy_score(*given, sample_weight=weights))
    assert_allclose(found.sensitivity, metrics.recall_score(*given, sample_weight=weights))
    assert_allclose(found.specificity, metrics.recall_score(*given, sample_weight=weights, pos_label=0))
    assert_allclose(found.precision, metrics.precision_score(*given, sample_weight=weights))


def judged(seed, items=2400, labels=600):
    """Labels of the first items and verdicts on all, by a judge who is right nine times of ten."""
    rng = np.random.default_rng(seed)
    truth = rng.random(items) < rng.uniform(0.2, 0.6)
    verdict = np.where(rng.random(items) < 0.9, truth, ~truth).astype(float)
    return (
        truth[:labels].astype(float),
        verdict,
        np.concatenate([truth[:labels].astype(int), np.full(items - labels, -1)]),
    )


@each_seed
@pytest.mark.parametrize("tuning", [0.0, 0.5, 1.0])
def test_prediction_powered_rate_is_that_of_ppi_py(seed, tuning):
    truth, verdict, label = judged(seed)
    n, rest = len(truth), len(verdict) - len(truth)
    ours = prediction_powered(verdict, label, tuning=tuning)
    # Our second mean is over all items, theirs over those without a label: the same with this share of the tuning.
    given, lam = (truth, verdict[:n], verdict[n:]), tuning * rest / (n + rest)
    assert_allclose(ours, ppi_py.ppi_mean_pointestimate(*given, lam=lam)[0], rtol=1e-10)
    low, high = ppi_py.ppi_mean_ci(*given, lam=lam, alpha=0.05)
    assert_allclose(ours.standard_error, (high[0] - low[0]) / 2 / scipy_stats.norm.ppf(0.975), rtol=0.01)
    assert_allclose([ours.low, ours.high], [low[0], high[0]], atol=0.002)


@each_seed
def test_the_tuning_that_is_chosen_is_as_good_as_that_of_ppi_py(seed):
    truth, verdict, label = judged(seed)
    n = len(truth)
    ours = prediction_powered(verdict, label)
    low, high = ppi_py.ppi_mean_ci(truth, verdict[:n], verdict[n:], alpha=0.05)
    # Theirs takes the variance of the verdicts from all items, ours that of the labelled ones.
    theirs = ppi_py.ppi_mean_pointestimate(truth, verdict[:n], verdict[n:])[0]
    assert_allclose(ours, theirs, atol=0.15 * ours.standard_error)
    assert_allclose(ours.standard_error, (high[0] - low[0]) / 2 / scipy_stats.norm.ppf(0.975), rtol=0.02)


# Tests


@each_seed
def test_holm_is_that_of_statsmodels(seed):
    p = np.random.default_rng(seed).random(seed + 1) ** 3
    assert_allclose(holm(p), multipletests(p, method="holm")[1], rtol=1e-12)


@each_seed
def test_mcnemar_is_that_of_statsmodels_and_of_conditional_logit(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.random((2, 80)) < np.array([[0.6], [0.4]])
    found = mcnemar(first, second, Clusters(np.arange(80)))
    table = [[0, found.only_first], [found.only_second, 0]]
    assert_allclose(found.p_exact, their_mcnemar(table, exact=True).pvalue)
    # Pairs that agree have no part in it.
    pairs = np.stack([first, second], axis=1)[first != second].astype(int)
    arm, groups = np.tile([1.0, 0.0], len(pairs))[:, None], np.repeat(np.arange(len(pairs)), 2)
    fit = ConditionalLogit(pairs.ravel(), arm, groups=groups).fit(disp=0)
    discordant = found.only_first + found.only_second
    assert_allclose(np.log(found.odds_ratio), fit.params[0], rtol=1e-4, atol=1e-5)
    # Each question a cluster: their variance 1 / b + 1 / c, times R / (R - 1); t with as many degrees of freedom, or
    # fewer where b and c are far from equal.
    reach = scipy_stats.t.ppf(0.975, discordant - 1) * fit.bse[0] * np.sqrt(discordant / (discordant - 1))
    assert reach * 0.999 <= np.log(found.odds_ratio_high) - fit.params[0] < 1.05 * reach


@each_seed
def test_exchange_within_pairs_is_the_permutation_test_of_scipy(seed):
    first, second = np.random.default_rng(seed).integers(0, 5, (2, 9)).astype(float)
    pairs = np.stack([first, second], axis=1)
    mean_gap = Sums(pairs, lambda totals: (totals[..., 0] - totals[..., 1]) / 9, lambda totals: "", np.array([1, 0]))
    theirs = scipy_stats.permutation_test(
        (first, second),
        lambda a, b: np.mean(a - b),
        permutation_type="samples",
        alternative="greater",
        vectorized=False,
    )
    assert_allclose(swap_p(mean_gap), theirs.pvalue)


@each_seed
def test_exchange_of_rows_is_fishers_test_for_groups_of_one_size(seed):
    rng = np.random.default_rng(seed)
    k1, k2 = (int(k) for k in rng.integers(0, 21, 2))
    # With equal sizes the less probable tables are those with the larger difference.
    assert_allclose(permutation_p(k1, 20, k2, 20), scipy_stats.fisher_exact([[k1, 20 - k1], [k2, 20 - k2]])[1])


@pytest.mark.parametrize("seed", range(4))
def test_exchange_of_clusters_is_the_permutation_test_of_scipy(seed):
    rng = np.random.default_rng(seed)
    trials = np.full(14, 3)
    successes = rng.binomial(3, np.where(np.arange(14) < 6, 0.7, 0.4))
    ours = clustered_permutation_p(successes, trials, np.arange(14) >= 6, rounds=20_000, seed=seed)
    theirs = scipy_stats.permutation_test(
        (successes[:6], successes[6:]), lambda a, b, axis: np.abs(a.mean(axis) - b.mean(axis)), alternative="greater"
    )
    # All 3,003 ways against 20,000 random ones: one standard error is 0.35 points at most.
    assert_allclose(ours, theirs.pvalue, atol=0.015)
