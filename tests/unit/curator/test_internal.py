"""Internal files: whole or not at all, and never where releases are."""

import errno
import os
import stat

import pytest

from understudy.curator.internal import check_internal, replace_internal, write_internal
from understudy.errors import BadInput


def test_a_file_is_written_once_and_for_its_owner(tmp_path):
    write_internal(tmp_path / "a.json", "text")
    assert stat.S_IMODE((tmp_path / "a.json").stat().st_mode) == 0o600
    with pytest.raises(BadInput, match="nothing is overwritten"):
        write_internal(tmp_path / "a.json", "other")
    replace_internal(tmp_path / "a.json", "other")
    assert (tmp_path / "a.json").read_text() == "other"
    assert stat.S_IMODE((tmp_path / "a.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("write", [write_internal, replace_internal])
def test_a_full_disk_leaves_no_half_a_file(tmp_path, monkeypatch, write):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadInput, match=r"a\.json cannot be written: No space left"):
        write(tmp_path / "a.json", "text")
    assert list(tmp_path.iterdir()) == []


def test_no_folder_is_told(tmp_path):
    with pytest.raises(BadInput, match="cannot be written"):
        replace_internal(tmp_path / "none" / "a.json", "text")


def test_a_link_into_a_release_is_seen(tmp_path):
    release = tmp_path / "release"
    release.mkdir()
    (release / "certificate.json").touch()
    (tmp_path / "link").symlink_to(release)
    with pytest.raises(BadInput, match="release folder"):
        check_internal(tmp_path / "link" / "a.json")
