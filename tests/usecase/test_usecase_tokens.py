"""Words of texts."""

from hypothesis import given
from hypothesis import strategies as st

from biaslens.usecase._tokens import WORD, tokenise, words_of


@given(st.text(max_size=40) | st.text(st.characters(max_codepoint=127), max_size=40))
def test_ascii_texts_have_the_words_that_the_pattern_finds(text):
    assert words_of(text) == WORD.findall(text.lower())


@given(st.lists(st.text("ab é.", max_size=8), max_size=5))
def test_numbers_give_back_the_words(texts):
    tokens = tokenise(texts)
    assert len(tokens) == len(texts)
    assert [tokens.words(index) for index in range(len(texts))] == [words_of(text) for text in texts]
    assert tokens.text_of.tolist() == [index for index, text in enumerate(texts) for _ in words_of(text)]
