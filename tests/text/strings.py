"""Test strings of many scripts, the same for the same seed."""

import random

LANGUAGES = {
    "english": "the quick answer isn't what we'll expect: they've seen it, I'd say, you're right, she'd know, it's fine",
    "german": "Straße Übung größer Fußgängerübergänge weiß heute nicht, ob Äpfel oder Öl schöner sind",
    "french": "L'été où l'œuvre naïve s'achève, ça coûte près d'un euro; déjà vu à Noël",
    "spanish": "¿Dónde está el niño? ¡Mañana comeré piñones, señor! Él pingüino añoró",
    "polish": "zażółć gęślą jaźń, żeby łódź źle nie płynęła w święta",
    "turkish": "İstanbul'da ışık, ğöçmüş şu çılgın IĞDIR ılık çay içti",
    "vietnamese": "Tôi muốn học tiếng Việt, nhưng điều đó rất khó khăn ở những nơi ấy",
    "russian": "Съешь же ещё этих мягких французских булок, да выпей чаю. Объём подъёмника",
    "ukrainian": "Її ґанок їжака щось пояснює: п'ять ґудзиків і єнот",
    "greek": "Ταχίστη αλώπηξ βαφής ψημένη γη, δρασκελίζει υπέρ νωθρού κυνός· ΐ ΰ",
    "hebrew": "שָׁלוֹם עולם, מה שלומך היום? דג סקרן שט בים מאוכזב",
    "arabic": "نَصٌّ حكيم له سر قاطع وذو شأن عظيم، مكتوب على ثوب أخضر ١٢٣٤",
    "persian": "می‌خواهم کتاب‌ها را ببینم؛ ۱۲۳۴۵ تومان است",
    "hindi": "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश ५६७",
    "bengali": "বাংলা ভাষায় লেখা একটি ছোট বাক্য ৪২",
    "tamil": "யாமறிந்த மொழிகளிலே தமிழ்மொழி போல் இனிதாவது",
    "thai": "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์ ๒๕๖๗",
    "georgian": "საქართველო მშვენიერი ქვეყანაა",
    "armenian": "Բել դղյակի ձախ ժամն օֆ ազգությանը",
    "chinese": "我能吞下玻璃而不伤身体。天地玄黃，宇宙洪荒；二〇二四年。",
    "japanese": "いろはにほへと ちりぬるを カタカナ ﾊﾝｶｸ 漢字と仮名、ー長音",
    "korean": "다람쥐 헌 쳇바퀴에 타고파 ㅋㅋㅋ 가각갂",
    "amharic": "ሰላም ልዑል በጣም ጥሩ ቀን",
    "cherokee": "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ",
    "mongolian": "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ",
}

SCRIPT_RANGES = [
    (0x20, 0x7F), (0xA0, 0x100), (0x100, 0x250), (0x250, 0x2B0), (0x300, 0x370), (0x370, 0x400), (0x400, 0x530),
    (0x530, 0x590), (0x591, 0x5F5), (0x600, 0x700), (0x900, 0x980), (0x980, 0xA00), (0xB80, 0xC00), (0xE01, 0xE5C),
    (0x10A0, 0x1100), (0x1100, 0x1200), (0x1200, 0x1380), (0x13A0, 0x13F6), (0x1780, 0x17EA), (0x1E00, 0x1F00),
    (0x1F00, 0x2000), (0x2000, 0x2070), (0x2070, 0x20D0), (0x2100, 0x2200), (0x2200, 0x2400), (0x2460, 0x2500),
    (0x2500, 0x2700), (0x2700, 0x27C0), (0x3000, 0x3040), (0x3041, 0x30FF), (0x3400, 0x3500), (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A4), (0xFB00, 0xFB07), (0xFE00, 0xFE10), (0xFF01, 0xFFEF), (0x10330, 0x1034B), (0x1D400, 0x1D500),
    (0x1F100, 0x1F170), (0x1F300, 0x1F650), (0x1F680, 0x1F700), (0x1F900, 0x1FA00), (0x20000, 0x20100),
    (0xE0020, 0xE0080), (0xF0000, 0xF0010),
]

EMOJI = ["👩‍👩‍👧‍👦", "🏴‍☠️", "👍🏽", "🇩🇪🇫🇷", "❤️‍🔥", "🧑🏿‍🚀", "1️⃣", "😀😃", "🤷‍♂️", "☃", "🏳️‍🌈"]

MARKS = ["a\u0301\u0323", "e\u0323\u0302", "\u0301", "q\u0307\u0323", "\u1e9b\u0323", "한\u11a8", "n\u0303o", "\u0344", "Å\u212b", "ﬁﬀ"]

CODE = [
    "def f(x: int) -> str:\n    return f\"{x:04d}\"\n", "for (int i = 0; i < n; ++i) { a[i] += b[i]*2; }\n",
    "#include <vector>\n\tstd::vector<int> v{1, 2, 3};", "SELECT * FROM t WHERE id IN (1,22,333);",
    "<div class=\"a\">\r\n\t<p>&nbsp;</p>\r\n</div>", "if [ -f \"$HOME/.rc\" ]; then . ~/.rc; fi", "{\"k\": [1.5e-3, null, true]}",
    "x=y==z!=w<=v>=u&&t||s", "\\frac{1}{2} \\sum_{i=0}^{n} x_i^2", "https://example.org/a?b=c&d=%20#e", "0x1F 0b101 1_000 3.14",
    "camelCase snake_case SCREAMING kebab-case I'M 'S 'LL 'Re", "/* ... */ // --- ***", "a  =  b   ;", "\t\t\treturn;\n\n\n}",
]

SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", " \n", "\n ", "\u00a0", "\u2003", "\u3000", "\u200b", "\u2028", "\u0085", "\ufeff", "\u180e", "\x0b", "\x0c", "\x1c", "\x1f"]

CONTROLS = ["\x00", "\x01", "\x07", "\x1b[0m", "\x7f", "\x80", "\x9f", "\ufffd", "\ufffe", "\U0010ffff", "\u202e", "\u2066"]

NUMBERS = ["0", "7", "42", "123", "2024", "1,234,567.89", "-5", "3e10", "½", "²³", "Ⅷ", "①②", "٣٤", "५६", "２３", "𝟘𝟙", "〇一二", "1st", "v1.2.3", "  12", "\n3"]


def random_characters(draw, count):
    low, high = draw.choice(SCRIPT_RANGES)
    return "".join(chr(draw.randrange(low, high)) for _ in range(count))


def words_of(draw, language, count):
    words = LANGUAGES[language].split(" ")
    begin = draw.randrange(len(words))
    return " ".join((words + words)[begin : begin + count])


def piece(draw, special):
    kind = draw.randrange(12)
    if kind <= 3:
        return words_of(draw, draw.choice(list(LANGUAGES)), draw.randrange(1, 4))
    if kind == 4:
        return random_characters(draw, draw.randrange(1, 5))
    choices = {5: EMOJI, 6: MARKS, 7: CODE, 8: SPACES, 9: CONTROLS, 10: NUMBERS, 11: special}[kind]
    return "".join(draw.choice(choices) for _ in range(draw.randrange(1, 3)))


def is_encodable(text):
    return not any(0xD800 <= ord(c) < 0xE000 for c in text)


def strings(count, special, seed=1):
    """As many different strings; `special` are the texts of the tokenizer's own added tokens, and near misses."""
    draw = random.Random(seed)
    found = dict.fromkeys(["", " ", "  ", "\n", *LANGUAGES.values(), *EMOJI, *MARKS, *CODE, *SPACES, *CONTROLS, *NUMBERS, *special])
    while len(found) < count:
        glue = draw.choice(["", "", " ", "  ", "\n"])
        text = glue.join(piece(draw, special) for _ in range(draw.randrange(1, 4)))[:28]
        if is_encodable(text):
            found.setdefault(text)
    return list(found)[:count]
