#!/usr/bin/env python3
"""usage: page_screenshots.py SERVER MODEL FOLDER: the screenshots of examples/server/README.md, with other clients at
work."""
import json
import pathlib
import sys
import threading
import urllib.request

import chromium
from cogen_server import CogenServer

QUESTION = "Write a short Python function that adds the numbers of a list, and explain it."
EARLIER = ["A packing list for two days at sea", "Why is the sky blue?", "Names for a small boat"]
TOPICS = ["the sea", "a mountain", "winter", "bread", "a lighthouse", "trains", "an orchard", "rain", "maps", "glass", "clocks", "owls"]


def other_client(address, number, stop):
    """Asks one question after another."""
    while not stop.is_set():
        prompt = f"Write about {TOPICS[number % len(TOPICS)]}. " + "It was a long day. " * (20 * (number % 4))
        body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": 40 + 25 * (number % 5), "temperature": 1, "seed": number}
        request = urllib.request.Request(f"{address}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
        try:
            urllib.request.urlopen(request).read()
        except OSError:
            return


def conversation(number, title):
    return {"id": f"earlier{number}", "title": title, "updated": 3 - number, "chosen": {"": "a"},
            "nodes": {"a": {"id": "a", "parent": "", "role": "user", "content": title}}}


def prepare(page):
    page.until("document.getElementById('model').value")
    for number, title in enumerate(EARLIER):
        page.evaluate(f"localStorage.setItem('cogen.chat.earlier{number}', {json.dumps(json.dumps(conversation(number, title)))})")
    page.evaluate("localStorage.setItem('cogen.live', 'true')")
    page.evaluate("""localStorage.setItem('cogen.settings', '{"temperature": "0.3", "seed": "1", "max_tokens": "120"}')""")
    page.reload()
    page.until("document.getElementById('model').value")


def ask(page, text):
    page.evaluate("document.getElementById('box').focus()")
    page.write(text)
    page.press("Enter")
    page.until("document.querySelectorAll('article').length >= 2 && document.getElementById('send').dataset.active === 'false'")


def take(server, browser, folder):
    page = browser.open(server.address, 1280, 800)
    prepare(page)
    ask(page, QUESTION)
    page.click("[aria-label=Regenerate]")
    page.until("document.querySelector('article .branch')?.innerText === '2/2' && document.getElementById('send').dataset.active === 'false'")
    page.until("document.querySelectorAll('#slots rect').length > 30")
    page.evaluate("document.getElementById('scroll').scrollTop = 0")
    page.screenshot(folder / "page-light.png")
    page.scheme("dark")
    page.screenshot(folder / "page-dark.png")
    page.close()
    phone = browser.open(server.address, 390, 760, scheme="light", phone=True)
    prepare(phone)
    ask(phone, "What is the capital of France?")
    phone.screenshot(folder / "page-phone.png")
    phone.close()


folder = pathlib.Path(sys.argv[3])
folder.mkdir(exist_ok=True)
with CogenServer(sys.argv[1], sys.argv[2], "--slots", "8", "--max-length", "2048") as server, chromium.Chromium() as browser:
    stop = threading.Event()
    clients = [threading.Thread(target=other_client, args=(server.address, number, stop), daemon=True) for number in range(10)]
    for client in clients:
        client.start()
    take(server, browser, folder)
    stop.set()
