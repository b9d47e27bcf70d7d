#!/usr/bin/env python3
"""usage: page_test.py SERVER MODEL [unittest's arguments]: uses the page of the server as people do, in Chromium."""
import json
import sys
import tempfile
import unittest
import urllib.request

import chromium
from cogen_server import CogenServer

SKIPPED = 77  # as tests/server/CMakeLists.txt says

# What a model might write to run a script, or to have another host asked.
ATTACKS = """<script>window.attacked = 1</script>
<img src=x onerror="window.attacked = 1">
[a](javascript:window.attacked=1) [b](JaVaScRiPt:window.attacked=1) [c](&#106;avascript:window.attacked=1)
[d](data:text/html,<script>window.attacked=1</script>) [e](\tjavascript:window.attacked=1) [f](//example.org/x)
![picture](http://127.0.0.1:9/p.png) ![p](x" onerror="window.attacked=1) <javascript:window.attacked=1>
[g](https://example.org/"onmouseover="window.attacked=1) https://example.org/"onclick="window.attacked=1

| <svg onload=window.attacked=1> | b |
|---|---|
| <iframe srcdoc="<script>parent.attacked=1</script>"> | `<b>` |

```"><script>window.attacked=1</script>
</code></pre><script>window.attacked = 1</script>
```
<style>body { display: none }</style><a href="javascript:window.attacked=1">x</a>"""

MARKDOWN = """# Title

A *slanted*, **strong**, ~~struck~~ and `code` word, snake_case_name, 2 * 3 * 4, ***both***,
[link](https://example.org/a_(b)) and https://example.org/c. A \\*star\\*.

1. one
   - inner
   - other
2. two

| left | right |
|:-----|------:|
| a | 1 |

> quoted
> more

```python
def f(x):
\treturn "x"  # remark
```

- [x] done
"""

TOOLS = [{"type": "function", "function": {"name": "temperature", "parameters": {"type": "object", "properties": {"town": {"enum": ["Bergen", "Oslo"]}},
                                                                                 "required": ["town"]}}}]


def conversation(*messages):
    """A conversation of one branch, as the page exports it."""
    nodes, chosen, parent = {}, {}, ""
    for number, message in enumerate(messages):
        id = f"node{number}"
        nodes[id] = {"id": id, "parent": parent, "finish": "stop", **message}
        chosen[parent] = parent = id
    return {"id": "imported", "title": "Imported", "updated": 1, "nodes": nodes, "chosen": chosen}


class PageTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        browser.errors.clear()
        self.expected_errors = ()  # parts of texts; Chromium logs a refusal at some time after the page has shown it
        self.page = browser.open(server.address)
        self.page.until("document.getElementById('model').value")
        self.set(temperature="0", max_tokens="24")

    def tearDown(self):
        self.page.close()
        self.assertEqual([text for text in browser.errors if not any(part in text for part in self.expected_errors)], [])

    # What a person does.

    def set(self, **values):
        """Fills the settings in and saves them."""
        self.page.click("#show-settings")
        for name, value in values.items():
            self.page.evaluate(f"""(() => {{
                const field = document.querySelector('#settings [name={name}]');
                field.focus();
                field.select();
            }})()""")
            self.page.write(value) if value else self.page.press("Delete")
        self.page.click("#settings .solid")
        self.page.until("!document.getElementById('settings').open")

    def write(self, text):
        self.page.evaluate("document.getElementById('box').focus()")
        self.page.write(text)

    def begin(self, text):
        self.write(text)
        self.page.press("Enter")
        self.page.until("document.getElementById('send').dataset.active === 'true'")

    def wait(self):
        """Waits for the end of the answer and for the frame that shows it."""
        self.page.until("document.getElementById('send').dataset.active === 'false'")
        self.page.evaluate("new Promise(requestAnimationFrame)")

    def ask(self, text):
        count = len(self.texts("article"))
        self.write(text)
        self.page.press("Enter")
        self.page.until(f"document.querySelectorAll('article').length === {count + 2} && document.getElementById('send').dataset.active === 'false'")
        return self.answer()

    def texts(self, selector):
        return self.page.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map((each) => each.innerText)")

    def answer(self):
        self.page.evaluate("new Promise(requestAnimationFrame)")
        return self.texts("article.assistant .body")[-1].strip()

    def figures(self):
        self.page.evaluate("new Promise(requestAnimationFrame)")
        return self.texts("article.assistant .figures")[-1]

    def branch(self):
        return self.texts("article .branch")

    def load(self, *conversations):
        """Imports a file."""
        content = json.dumps({"format": "cogen-conversations", "version": 1, "conversations": conversations})
        self.page.evaluate(f"""(() => {{
            document.getElementById("toast").hidden = true;
            const files = new DataTransfer();
            files.items.add(new File([{json.dumps(content)}], "conversations.json", {{type: "application/json"}}));
            const input = document.getElementById("file");
            input.files = files.files;
            input.dispatchEvent(new Event("change"));
        }})()""")
        self.page.until("!document.getElementById('toast').hidden")

    def show(self, **answer):
        self.load(conversation({"role": "user", "content": "Question"}, {"role": "assistant", "content": "", **answer}))

    # The tests.

    def test_an_answer_is_streamed_and_measured(self):
        self.begin("What is the capital of France?")
        self.page.until("document.querySelector('article.assistant .body').innerText.trim().length > 0")
        self.wait()
        self.assertEqual(self.answer(), "The capital of France is Paris.")
        self.assertRegex(self.figures(), r"^\d+ tokens · [\d.]+ tokens/s · first after [\d.]+ s · \d+ of \d+ prompt tokens cached")
        self.assertEqual(self.page.evaluate("document.title"), "What is the capital of France? · cogen")

    def test_shift_and_enter_begin_a_line(self):
        self.write("one")
        self.page.press("Shift+Enter")
        self.write("two")
        self.assertEqual(self.page.evaluate("document.getElementById('box').value"), "one\ntwo")
        self.assertEqual(self.texts("article"), [])

    def test_escape_stops_and_frees_the_slot(self):
        self.set(max_tokens="4000")
        self.begin("Tell me a very long story.")
        self.page.until("document.querySelector('article.assistant .body').innerText.length > 20")
        self.page.press("Escape")
        self.wait()
        self.assertIn("stopped", self.figures())
        self.page.until("fetch('slots').then((answer) => answer.json()).then((slots) => slots.every((slot) => !slot.is_processing))")
        self.assertGreater(len(self.answer()), 20)
        self.set(max_tokens="8")
        self.ask("Go on.")

    def test_the_button_stops(self):
        self.set(max_tokens="4000")
        self.begin("Tell me a very long story.")
        self.page.until("document.querySelector('article.assistant .body').innerText.length > 20")
        self.page.click("#send")
        self.wait()
        self.assertIn("stopped", self.figures())

    def test_regenerated_answers_are_branches(self):
        first = self.ask("What is the capital of France?")
        self.set(temperature="1.5", seed="7")
        self.page.click("[aria-label=Regenerate]")
        self.page.until("document.querySelector('article .branch')?.innerText === '2/2'")
        self.wait()
        second = self.answer()
        self.assertNotEqual(first, second)
        self.assertRegex(self.figures(), r"[1-9]\d* of \d+ prompt tokens cached")
        self.page.click("[aria-label='Previous branch']")
        self.assertEqual((self.answer(), self.branch()), (first, ["1/2"]))
        self.page.press("Alt+BracketRight")
        self.assertEqual((self.answer(), self.branch()), (second, ["2/2"]))

    def test_buttons_stay_when_an_answer_ends(self):
        self.ask("What is the capital of France?")
        self.set(max_tokens="4000")
        self.page.click("[aria-label=Regenerate]")
        self.page.until("document.querySelector('article .branch')?.innerText === '2/2'")
        self.page.evaluate("window.previous = document.querySelector('[aria-label=\"Previous branch\"]')")
        self.page.press("Escape")
        self.wait()
        self.assertTrue(self.page.evaluate("window.previous.isConnected"))

    def test_an_edited_message_is_a_branch_with_answers_of_its_own(self):
        self.ask("What is the capital of France?")
        self.ask("And of Italy?")
        self.page.evaluate("document.querySelector('[aria-label=Edit]').click()")
        self.assertEqual(self.page.evaluate("document.activeElement.value"), "What is the capital of France?")
        self.page.evaluate("document.activeElement.select()")
        self.page.write("What is two plus two?")
        self.page.press("Enter")
        self.page.until("document.querySelectorAll('article').length === 2")
        self.wait()
        self.assertEqual(self.texts("article.user .body"), ["What is two plus two?"])
        self.page.click("[aria-label='Previous branch']")
        self.assertEqual(self.texts("article.user .body"), ["What is the capital of France?", "And of Italy?"])

    def test_escape_leaves_an_edit(self):
        self.ask("What is the capital of France?")
        self.page.press("ArrowUp")
        self.page.until("document.activeElement.closest('article')")
        self.page.press("Escape")
        self.assertEqual((len(self.texts("article")), self.branch()), (2, []))

    def test_a_reload_keeps_conversations_branches_and_settings(self):
        self.ask("What is the capital of France?")
        self.page.click("[aria-label=Regenerate]")
        self.page.until("document.querySelector('article .branch')?.innerText === '2/2'")
        self.wait()
        self.page.click("[aria-label='Previous branch']")
        before = self.texts("article .body")
        self.page.reload()
        self.page.until("document.querySelector('article')")
        self.assertEqual((self.texts("article .body"), self.branch()), (before, ["1/2"]))
        self.page.click("#show-settings")
        self.assertEqual(self.page.evaluate("document.querySelector('[name=max_tokens]').value"), "24")

    def test_a_reload_keeps_what_had_arrived(self):
        self.set(max_tokens="4000")
        self.begin("Tell me a very long story.")
        self.page.until("document.querySelector('article.assistant .body').innerText.length > 40")
        self.page.reload()
        self.page.until("document.querySelector('article')")
        self.assertGreater(len(self.answer()), 20)
        self.assertIn("stopped", self.figures())

    def test_two_conversations_stream_at_once(self):
        self.set(max_tokens="200")
        self.begin("Tell me a very long story.")
        self.page.press("Alt+KeyN")
        self.begin("Tell me another long story.")
        self.assertEqual(len(self.texts("#chats .working")), 2)
        self.wait()
        self.page.until("!document.querySelector('#chats .working')")
        self.page.click("#chats li:nth-child(2) .title")
        self.assertGreater(len(self.answer()), 100)

    def test_settings_are_sent(self):
        self.set(schema='{"type": "object", "properties": {"city": {"enum": ["Paris"]}}, "required": ["city"], "additionalProperties": false}',
                 max_tokens="40")
        self.assertEqual(json.loads(self.ask("Which city is the capital of France?")), {"city": "Paris"})
        self.set(schema="", max_tokens="3")
        self.ask("Count to one hundred.")
        self.assertRegex(self.figures(), r"^3 tokens .* cut off at the limit")

    def test_a_wrong_schema_is_not_saved(self):
        self.page.click("#show-settings")
        self.page.evaluate("document.querySelector('[name=schema]').focus()")
        self.page.write("{not json")
        self.page.click("#settings .solid")
        self.assertTrue(self.page.evaluate("document.getElementById('settings').open"))
        self.assertIn("not JSON", self.page.evaluate("document.querySelector('[name=schema]').validationMessage"))

    def test_an_error_is_shown_and_can_be_tried_again(self):
        self.set(tools='[{"type": "no such type"}]')
        self.begin_failing("What is the capital of France?")
        self.assertTrue(self.texts(".failed")[0].strip())
        self.set(tools="")
        self.page.click(".failed .plain")
        self.page.until("!document.querySelector('.failed')")
        self.wait()
        self.assertEqual((self.answer(), self.branch()), ("The capital of France is Paris.", ["2/2"]))

    def begin_failing(self, text):
        self.expected_errors = ("responded with a status of 4",)
        self.write(text)
        self.page.press("Enter")
        self.page.until("document.querySelector('.failed')")

    def test_tools_are_called_and_answered(self):
        self.set(tools=json.dumps(TOOLS), max_tokens="60")
        self.show(calls=[{"id": "call1", "name": "temperature", "arguments": '{"town": "Oslo"}'}], finish="tool_calls")
        self.assertEqual(self.texts(".call summary"), ["Call of temperature"])
        self.assertEqual(json.loads(self.texts(".call pre")[0]), {"town": "Oslo"})
        self.page.evaluate("document.querySelector('.result textarea').focus()")
        self.page.write("21 degrees")
        self.page.click(".result .solid")
        self.page.until("document.querySelectorAll('article').length === 4")
        self.wait()
        self.assertEqual(self.texts("article .failed"), [])

    def test_reasoning_is_folded(self):
        self.show(reasoning="First, *think*.", content="Done.")
        self.assertFalse(self.page.evaluate("document.querySelector('.reasoning').open"))
        self.page.click(".reasoning summary")
        self.assertEqual(self.texts(".thought"), ["First, think."])

    def test_markdown(self):
        self.show(content=MARKDOWN)
        shown = self.page.evaluate("""[...document.querySelectorAll('article.assistant .markdown > *')].map((each) => each.outerHTML
            .replace(/<div><span>.*?<\\/div>/, "").replace(/ (rel|target|tabindex|class="(?!right|task|k|s|c|n)\\w*)="?[^">]*"?/g, ""))""")
        self.assertEqual(shown, [
            "<h1>Title</h1>",
            "<p>A <em>slanted</em>, <strong>strong</strong>, <del>struck</del> and <code>code</code> word, snake_case_name, 2 * 3 * 4, "
            '<strong><em>both</em></strong>,<br><a href="https://example.org/a_(b)">link</a> and '
            '<a href="https://example.org/c">https://example.org/c</a>. A *star*.</p>',
            "<ol><li>one<ul><li>inner</li><li>other</li></ul></li><li>two</li></ol>",
            '<div class="wide"><table><thead><tr><th>left</th><th class="right">right</th></tr></thead>'
            '<tbody><tr><td>a</td><td class="right">1</td></tr></tbody></table></div>',
            "<blockquote><p>quoted<br>more</p></blockquote>",
            '<div class="block"><pre><code><span class="k">def</span> f(x):\n\t<span class="k">return</span> '
            '<span class="s">"x"</span>  <span class="c"># remark</span></code></pre></div>',
            '<ul><li class="task"><input type="checkbox" disabled="" checked="" aria-label="done">done</li></ul>'])

    def test_markdown_cut_anywhere_ends_the_same(self):
        """A stream shows in the end what the whole text would."""
        text = json.dumps(MARKDOWN)
        self.page.evaluate(f"""(async () => {{
            const real = fetch, text = {text};
            window.fetch = async (route, options) => {{
                if (route !== "v1/chat/completions") return real(route, options);
                const events = [...text].map((letter) => `data: ${{JSON.stringify({{choices: [{{index: 0, delta: {{content: letter}}}}]}})}}\\n\\n`);
                const end = 'data: {{"choices": [{{"index": 0, "delta": {{}}, "finish_reason": "stop"}}]}}\\n\\ndata: [DONE]\\n\\n';
                const bytes = new TextEncoder().encode(events.join("") + end);
                return new Response(new ReadableStream({{async pull(out) {{
                    for (let i = 0; i < bytes.length; i += 37) {{ out.enqueue(bytes.slice(i, i + 37)); await new Promise(requestAnimationFrame); }}
                    out.close();
                }}}}));
            }};
        }})()""")
        self.ask("Anything")
        streamed = self.page.evaluate("[...document.querySelectorAll('article.assistant .markdown')].at(-1).innerHTML")
        self.page.reload()
        self.page.until("document.querySelector('article')")
        self.assertEqual(self.page.evaluate("[...document.querySelectorAll('article.assistant .markdown')].at(-1).innerHTML"), streamed)

    def test_text_never_runs_and_no_other_host_is_asked(self):
        for role in "user", "assistant", "tool":
            self.load(conversation({"role": "user", "content": ATTACKS}, {"role": role, "content": ATTACKS, "reasoning": ATTACKS, "model": ATTACKS}))
            found = self.page.evaluate("""({
                attacked: window.attacked, body: getComputedStyle(document.body).display,
                elements: [...document.querySelectorAll('#thread *')].filter((each) => /^(script|img|iframe|style|object)$/i.test(each.tagName)).length,
                handlers: [...document.querySelectorAll('#thread *')].flatMap((each) => [...each.attributes]).filter((each) => /^on|^style$|^src/.test(each.name)).length,
                links: [...document.querySelectorAll('#thread a')].map((each) => each.protocol)})""")
            self.assertEqual((found.get("attacked"), found["body"], found["elements"], found["handlers"]), (None, "flex", 0, 0))
            self.assertLessEqual(set(found["links"]), {"http:", "https:"})

    def test_the_policy_forbids_what_the_page_does_not_do(self):
        self.expected_errors = ("requires 'Trusted", "Content Security Policy")
        refused = """(() => { try { document.getElementById('about').innerHTML = '<b>x</b>'; return false; } catch { return true; } })()"""
        self.assertTrue(self.page.evaluate(refused))
        self.page.evaluate("""(() => { const script = document.createElement('script');
            try { script.text = 'window.attacked = 1'; document.body.append(script); } catch {} })()""")
        self.assertIsNone(self.page.evaluate("window.attacked"))
        self.assertEqual(self.page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', (error) => error.name)"), "TypeError")

    def test_damaged_files_change_nothing(self):
        self.ask("What is the capital of France?")
        before = self.page.evaluate("Object.keys(localStorage).sort()")
        node = {"id": "a", "parent": "a", "role": "user", "content": "its own parent"}
        for damaged in ({}, {"id": "x", "nodes": []}, {"id": "../x", "nodes": {}}, {"id": 7, "nodes": {"a": node}}, 3, None, "text"):
            self.load(damaged)
        self.assertEqual([name for name in self.page.evaluate("Object.keys(localStorage).sort()") if name != "cogen.chat.x"], before)
        self.load({"id": "circle", "title": 5, "nodes": {"a": node, "b": {"id": "b", "role": "user", "parent": "", "content": "kept"}}, "chosen": {"": "a"}})
        self.assertEqual(self.texts("article .body"), ["kept"])

    def test_conversations_are_exported_renamed_deleted_and_brought_back(self):
        self.ask("What is the capital of France?")
        exported = self.page.evaluate("""new Promise((done) => {
            const real = URL.createObjectURL;
            URL.createObjectURL = (blob) => { blob.text().then(done); URL.createObjectURL = real; return real(blob); };
            document.getElementById('export').click();
        })""")
        (exported,) = json.loads(exported)["conversations"]
        self.page.click("#chats [aria-label='Delete conversation']")
        self.assertEqual((self.texts("#chats li"), self.texts("article")), ([], []))
        self.page.click("#toast button")
        self.assertEqual(self.answer(), "The capital of France is Paris.")
        self.page.click("#chats [aria-label='Delete conversation']")
        self.load(exported)
        self.assertEqual(self.answer(), "The capital of France is Paris.")
        self.page.click("#chats [aria-label=Rename]")
        self.page.write("Cities")
        self.page.press("Enter")
        self.page.reload()
        self.page.until("document.querySelector('#chats .title')")
        self.assertEqual(self.texts("#chats .title"), ["Cities"])

    def test_slots_are_shown_live(self):
        self.page.evaluate("document.getElementById('live').hidden && document.getElementById('toggle-live').click()")
        slots = self.page.until("document.querySelectorAll('#slots li').length")
        self.assertEqual(slots, len(json.load(urllib.request.urlopen(f"{server.address}/slots"))))
        self.set(max_tokens="4000")
        self.begin("Tell me a very long story.")
        self.page.until("document.querySelector('#slots .lane-mine')")
        self.page.until("[...document.querySelectorAll('#counts dd')].some((each) => Number(each.innerText) > 0)")
        self.page.press("Escape")
        self.page.until("/^0 of/.test(document.getElementById('slot-count').innerText)")
        self.assertEqual(self.texts("#live-note"), [""])

    def test_everything_is_named_for_those_who_cannot_see(self):
        self.ask("What is the capital of France?")
        nameless = self.page.evaluate("""[...document.querySelectorAll('button, input, select, textarea')]
            .filter((each) => !(each.getAttribute('aria-label') || each.innerText?.trim() || each.labels?.length)).map((each) => each.outerHTML)""")
        self.assertEqual(nameless, [])

    def test_an_api_key_is_asked_for_and_sent(self):
        with tempfile.NamedTemporaryFile("w", prefix="keys-") as keys:
            keys.write("sk-test\n")
            keys.flush()
            with CogenServer(*sys.argv[1:3], "--max-length", "2048", "--api-key-file", keys.name) as locked:
                self.page.go(locked.address)
                self.page.until("document.getElementById('model').value")
                self.begin_failing("What is the capital of France?")
                self.assertEqual(self.texts(".failed button"), ["Set the API key"])
                self.set(key="sk-test", temperature="0")
                self.page.click("[aria-label=Regenerate]")
                self.page.until("!document.querySelector('.failed')")
                self.wait()
                self.assertEqual(self.answer(), "The capital of France is Paris.")
                self.page.go(server.address)

    def test_theme(self):
        background = "getComputedStyle(document.body).backgroundColor"
        light = self.page.evaluate(background)
        self.page.scheme("dark")
        dark = self.page.evaluate(background)
        self.assertNotEqual(light, dark)
        self.page.click("#theme")
        self.assertEqual((self.page.evaluate(background), self.texts("article")), (light, []))
        self.page.reload()
        self.assertEqual(self.page.evaluate(background), light)

    def test_nothing_is_wider_than_a_phone(self):
        self.page.close()
        self.page = browser.open(server.address, 360, 740, phone=True)
        self.page.until("document.getElementById('model').value")
        self.show(content=MARKDOWN + "\n```\n" + "long " * 60 + "\n```\n" + "x" * 300)
        self.assertLessEqual(self.page.evaluate("document.getElementById('scroll').scrollWidth"), 360)
        self.assertEqual(self.page.evaluate("document.documentElement.scrollWidth"), 360)
        self.page.click("#open-side")
        self.page.until("document.getElementById('side').getBoundingClientRect().left === 0")
        self.page.click("#new")
        self.page.until("document.getElementById('side').getBoundingClientRect().right <= 0")


if __name__ == "__main__":
    if not chromium.find():
        print("skipped: there is no Chromium; Debian's package is chromium")
        sys.exit(SKIPPED)
    with CogenServer(sys.argv[1], sys.argv[2], "--max-length", "2048") as server, chromium.Chromium() as browser:
        result = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], exit=False).result
    sys.exit(not result.wasSuccessful())
