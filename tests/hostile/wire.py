"""Requests that servers and proxies read differently, and those of pages of other sites."""
import contextlib
import socket


def told(server, request):
    """All that comes for the bytes."""
    client = server.connect()
    client.settimeout(20)
    client.sendall(request)
    with contextlib.suppress(OSError):
        client.shutdown(socket.SHUT_WR)
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while more := client.recv(65536):
            received += more
    client.close()
    return received


def hidden(head, body=b""):
    """A request, and behind it one that a proxy may have taken for its body."""
    return b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n" + head + b"\r\n" + body + b"GET /version HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


SMUGGLED = {
    "xchunked": hidden(b"Transfer-Encoding: xchunked\r\n"),
    "identity": hidden(b"Transfer-Encoding: identity\r\n"),
    "chunked, identity": hidden(b"Transfer-Encoding: chunked, identity\r\n", b"0\r\n\r\n"),
    "gzip, chunked": hidden(b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"),
    "two encodings": hidden(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", b"0\r\n\r\n"),
    "both lengths": hidden(b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", b"0\r\n\r\n"),
    "two content lengths": hidden(b"Content-Length: 0\r\nContent-Length: 5\r\n"),
    "a list of content lengths": hidden(b"Content-Length: 0, 5\r\n"),
    "a signed content length": hidden(b"Content-Length: +0\r\n"),
    "a hexadecimal content length": hidden(b"Content-Length: 0x0\r\n"),
    "a space before the colon": hidden(b"Content-Length : 0\r\n"),
    "a bad chunk size": hidden(b"Transfer-Encoding: chunked\r\n", b"0x0\r\n\r\n"),
    "a large chunk size": hidden(b"Transfer-Encoding: chunked\r\n", b"10000000000000000\r\n\r\n"),
    "a chunk without an end": hidden(b"Transfer-Encoding: chunked\r\n", b"1\r\nab\r\n0\r\n\r\n"),
}


def smuggle(name):
    def case(server):
        received = told(server, SMUGGLED[name])
        answers = received.count(b"HTTP/1.1 ")
        assert answers == 1, f"{answers} answers came"
        status = received.split(b" ", 2)[1].decode()
        assert status in ("400", "501", "411", "413"), received[:200]
        return status
    return case


def with_host(server, host, *more):
    lines = "".join(line + "\r\n" for line in more)
    return told(server, f"GET /slots HTTP/1.1\r\n{host}{lines}Connection: close\r\n\r\n".encode()).split(b" ", 2)[1].decode()


def rebound(server):
    refused = {name: with_host(server, *lines) for name, lines in {
        "another host": ("Host: evil.example\r\n",), "none": ("",), "two": ("Host: 127.0.0.1\r\nHost: 127.0.0.1\r\n",),
        "another origin": ("Host: 127.0.0.1\r\n", "Origin: http://evil.example"), "the origin null": ("Host: 127.0.0.1\r\n", "Origin: null"),
        "a name that begins as ours": ("Host: 127.0.0.1.evil.example\r\n",)}.items()}
    assert all(status[0] == "4" for status in refused.values()), refused
    port = server.port
    served = {host: with_host(server, f"Host: {host}\r\n") for host in (f"127.0.0.1:{port}", "127.0.0.1", f"localhost:{port}", "localhost", f"[::1]:{port}")}
    assert all(status == "200" for status in served.values()), served
    return " ".join(refused.values())


def posted_by_a_page(server):
    answer = server.post("/v1/completions", '{"prompt":"x","max_tokens":1}', headers={"Origin": "http://evil.example", "Content-Type": "text/plain"})
    assert 400 <= answer.status < 500, answer.text[:200]
    return str(answer.status)


OPEN = {**{f"smuggled: {name}": smuggle(name) for name in SMUGGLED}, "other hosts and origins": rebound, "a page's POST": posted_by_a_page}
