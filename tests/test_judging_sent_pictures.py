"""Pictures made ready to be sent: once for all who ask, known without their bytes, and never other bytes than before."""

import threading
from dataclasses import replace

import pytest
from model_judge_fixtures import encoded, noise, picture_file

from longbanana_nb.errors import DataError
from longbanana_nb.judging.sent_pictures import SentPictures


class Counted:
    """A picture file that counts how often it is read."""

    def __init__(self, file):
        self.file, self.sha256, self.reads, self._given = file.file, file.sha256, 0, file

    def read(self):
        self.reads += 1
        return self._given.read()


def test_a_picture_that_many_ask_for_at_once_is_made_once(tmp_path):
    cache, file = SentPictures(), Counted(picture_file(tmp_path, "r1", encoded(noise(1, 600, 400))))
    threads = [threading.Thread(target=cache.get, args=(file, ("jpeg-q90-1568", 1))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert file.reads == 1


def test_the_cache_forgets_what_was_longest_unused(tmp_path):
    files = [picture_file(tmp_path, f"r{n}", encoded(noise(n))) for n in range(4)]
    size = SentPictures().get(files[0], ("jpeg-q90-1568", 1)).size
    cache = SentPictures(most_bytes=int(size * 2.5))
    made = [cache.get(file, ("jpeg-q90-1568", 1)) for file in files]
    assert [cache.at_hand(file, ("jpeg-q90-1568", 1), with_data=True) for file in files] == [False, False, True, True]
    assert cache._bytes == sum(len(one.data) for one in made[2:])


def test_what_is_known_of_a_picture_outlives_its_bytes_and_brings_them_back(tmp_path):
    cache, file = SentPictures(), Counted(picture_file(tmp_path, "r1", encoded(noise(1, 600, 400))))
    made = cache.get(file, ("jpeg-q90-1568", 1))
    cache.let_go(made.sha256)
    known = cache.get(file, ("jpeg-q90-1568", 1), with_data=False)
    assert (known.data, known.sha256, known.size, file.reads) == (None, made.sha256, len(made.data), 1)
    assert cache.data_of(made.sha256) == made.data and file.reads == 2


def test_a_picture_that_comes_out_otherwise_than_it_was_learned_is_refused(tmp_path):
    cache, file, transcode = SentPictures(), picture_file(tmp_path, "r1", encoded(noise(1, 600, 400))), ("jpeg-q90-1568", 1)
    made = SentPictures().get(file, transcode)
    cache.learn(file.sha256, transcode, replace(made, data=None, sha256="0" * 64))
    assert cache.get(file, transcode, with_data=False).sha256 == "0" * 64
    with pytest.raises(DataError, match="comes out otherwise"):
        cache.data_of("0" * 64)
