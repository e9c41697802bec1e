"""Keys: the same in every version, or paid answers would be asked for again."""

from __future__ import annotations

import hashlib
import json

from hypothesis import given
from hypothesis import strategies as st

from biaslens.schema import Condition, content_hash

WRITABLE = st.text(st.characters(exclude_categories=["Cs"]))
PARTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WRITABLE | st.sampled_from(Condition),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(WRITABLE, part, max_size=3),
    max_leaves=6,
)


@given(st.lists(PARTS, max_size=5))
def test_a_key_is_the_hash_of_the_canonical_json_of_its_parts(parts):
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    assert content_hash(*parts) == hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
