"""In the place of the package of that name, which llama-server's tests import to fetch models."""


def download(url, out):
    raise RuntimeError(f"{url}: nothing is fetched here")
