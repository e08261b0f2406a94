// Colours code in answers. It is loaded with the first code block.
//
// A language is one regular expression. Its named groups are the kinds of token: k keyword, s string, n number,
// f function, c comment, i inserted, d deleted. Everything else keeps the colour of the text.

import { adopt } from "./roaming-ask.js";

const LONGEST = 20_000;

const STYLE = `
pre { --_k: var(--md-code-hl-keyword-color, light-dark(#2f5bb0, #8fb0ff));
  --_s: var(--md-code-hl-string-color, light-dark(#1a6e44, #6fcf97));
  --_n: var(--md-code-hl-number-color, light-dark(#b3261e, #ff9d94));
  --_f: var(--md-code-hl-function-color, light-dark(#8a3b9c, #e0a0ee)) }
.k { color: color-mix(in srgb, var(--_k) 88%, var(--_fg)) }
.s, .i { color: color-mix(in srgb, var(--_s) 88%, var(--_fg)) }
.n, .d { color: color-mix(in srgb, var(--_n) 88%, var(--_fg)) }
.f { color: color-mix(in srgb, var(--_f) 88%, var(--_fg)) }
.c { color: var(--_muted) }
`;

const words = (list) => `\\b(?:${list.replaceAll(" ", "|")})\\b`;
const QUOTED = `"(?:[^"\\\\\\n]|\\\\.)*"?|'(?:[^'\\\\\\n]|\\\\.)*'?`;
const NUMBER = "(?<![\\w.])(?:0[xob][\\da-f_]+|\\d[\\d_]*(?:\\.\\d+)?(?:e[+-]?\\d+)?)(?![\\w.]\\w)";
const HASH = "(?<!\\S)#[^\\n]*";
const END = "(?![^])";
const STARRED = `/\\*[^]*?(?:\\*/|${END})`;
const SLASHES = `//[^\\n]*|${STARRED}`;
const TRIPLE = `"""[^]*?(?:"""|${END})|'''[^]*?(?:'''|${END})`;
const named = (after) => `(?<=\\b(?:${after})\\s)\\s*[\\w$]+`;
const LINE = "(?<=^[ \\t]{0,40}(?:- ){0,4})"; // bounded, so that long lines stay fast

/** Build the pattern of a language from the sources of its kinds; the first kind that matches wins. */
const language = (kinds, flags = "") =>
  new RegExp(Object.entries(kinds).map(([kind, source]) => `(?<${kind}>${source})`).join("|"), `gm${flags}`);

const CURLY =
  "abstract as async await bool boolean break case catch char class const continue default do double else enum extends " +
  "extern false final finally float for foreach fun func goto if implements import in int interface internal is let long " +
  "namespace new nil null override package private protected public readonly return sealed short static string struct " +
  "super switch template this throw throws true try typedef typeof union unsigned using val var virtual void volatile " +
  "while yield";
const curly = (keywords, strings = QUOTED, f = named("class|func|fun|interface|struct|new")) =>
  language({ c: SLASHES, s: strings, f, k: words(keywords), n: NUMBER });

const MAKERS = {
  python: () =>
    language({
      c: "#[^\\n]*|^(?:>>>|\\.\\.\\.)(?= )",
      s: `(?<!\\w)[rbfuRBFU]{0,2}(?:${TRIPLE}|${QUOTED})`,
      f: `(?<![\\w)\\]])@[\\w.]+|${named("def|class")}`,
      k: words(
        "False None True and as assert async await break case class continue def del elif else except finally for from " +
          "global if import in is lambda match nonlocal not or pass raise return self try while with yield",
      ),
      n: NUMBER,
    }),
  javascript: () =>
    curly(
      "any as async await boolean break case catch class const continue debugger declare default delete do else enum export " +
        "extends false finally for from function if implements import in instanceof interface keyof let namespace never " +
        "new null number of private protected public readonly return satisfies static string super switch this throw " +
        "true try type typeof undefined unknown var void while with yield",
      `${QUOTED}|\`(?:[^\`\\\\]|\\\\.)*\`?`,
      named("function|class|interface|new"),
    ),
  json: () => language({ c: SLASHES, k: `"(?:[^"\\\\\\n]|\\\\.)*"(?=\\s*:)|${words("true false null")}`, s: QUOTED, n: NUMBER }),
  yaml: () =>
    language({
      c: HASH,
      k: `${LINE}(?:[\\w.$*/-]+|"[^"\\n]*"|'[^'\\n]*')(?=:(?:\\s|$))|(?<=: |- )(?:true|false|null|yes|no|on|off)(?=\\s*(?:$|#))`,
      s: "(?<=[\\s[{,:])" + `(?:${QUOTED})`,
      f: "(?<!\\S)[&*!][\\w.:/-]+|^---$",
      n: `(?<=[\\s[,])${NUMBER}(?=\\s*(?:$|[,\\]#]))`,
    }),
  toml: () =>
    language({
      c: "(?<!\\S)[#;][^\\n]*",
      f: "^[ \\t]{0,40}\\[{1,2}[^\\]\\n]*\\]{1,2}",
      k: `${LINE}[\\w."-]+(?=[ \\t]*=)|${words("true false")}`,
      s: `${TRIPLE}|${QUOTED}`,
      n: NUMBER,
    }),
  shell: () =>
    language({
      c: `${HASH}|^[$%>] (?=\\S)`,
      s: QUOTED,
      n: "\\$(?:\\w+|\\{[^}\\n]*\\}|[@#?*!$-])",
      k: words("if then elif else fi for in do done while until case esac function return exit export source local set unset"),
      f: "(?<=^(?:[$%] |sudo ){0,2}|[|;&]\\s)(?![\\w./-]*=)[a-z][\\w./-]*",
    }),
  html: () =>
    language({
      c: `<!--[^]*?(?:-->|${END})`,
      k: "</?[a-z][\\w:-]*|<!doctype|/?>",
      f: "(?<![\\w:@.-])[\\w:@.-]+(?==[\"'])",
      s: `(?<==)(?:${QUOTED})`,
      n: "&#?\\w{1,20};",
    }, "i"),
  css: () =>
    language({
      c: STARRED,
      s: QUOTED,
      k: "@[\\w-]+|!important",
      f: "(?<![\\w-])-{0,2}[a-z][\\w-]*(?=\\s*:[^:{}]*[;}\\n])",
      n: "#[\\da-f]{3,8}\\b|(?<![\\w-])-?(?:\\d+\\.?\\d*|\\.\\d+)(?:[a-z]+|%)?",
    }, "i"),
  sql: () =>
    language({
      c: `--[^\\n]*|${STARRED}`,
      s: "'(?:[^']|'')*'?",
      k: words(
        "add all alter and as asc begin between by case check column commit constraint create cross database default delete " +
          "desc distinct drop else end exists explain foreign from full grant group having if in index inner insert into " +
          "is join key left like limit not null offset on or order outer primary references returning right rollback " +
          "select set table then union unique update using values view when where with",
      ),
      n: NUMBER,
    }, "i"),
  rust: () =>
    curly(
      "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut " +
        "pub ref return self Self static struct super trait true type unsafe use where while",
      `(?<!\\w)[br]{0,2}#?"(?:[^"\\\\]|\\\\.)*"?#?|'(?:[^'\\\\\\n]|\\\\.)'`,
      `#!?\\[[^\\]\\n]*\\]|\\b\\w+!(?!=)|${named("fn|struct|enum|trait|impl")}`,
    ),
  go: () =>
    curly(
      "any bool break byte case chan const continue default defer else error fallthrough false float64 for func go goto if " +
        "import int int64 interface map nil package range return rune select string struct switch true type var",
      `${QUOTED}|\`[^\`]*\`?`,
      named("func|type"),
    ),
  diff: () => language({ c: "^(?:diff|index|---|\\+\\+\\+) [^\\n]*", i: "^\\+[^\\n]*", d: "^-[^\\n]*", f: "^@@[^\\n]*" }),
  curly: () => curly(CURLY),
};
const ALIASES = {
  python: "py python3 pycon py3",
  javascript: "js jsx ts tsx typescript mjs cjs",
  json: "jsonc json5 jsonl",
  yaml: "yml",
  toml: "ini cfg conf properties",
  shell: "sh bash zsh console shell-session shellsession terminal powershell fish",
  html: "xml svg vue svelte jinja htm",
  css: "scss less sass",
  sql: "sqlite postgresql mysql psql",
  rust: "rs",
  go: "golang",
  diff: "patch",
  curly: "c cpp c++ cs csharp java kotlin kt swift php dart scala groovy",
};
const names = new Map(Object.entries(ALIASES).flatMap(([name, list]) => list.split(" ").map((alias) => [alias, name])));
const patterns = new Map(); // by name, built when first used

/** Wrap the tokens of a code element in elements whose class is their kind; its text does not change. */
export function colour(code, given, root) {
  adopt(root, STYLE);
  const name = names.get(given) ?? given;
  const text = code.textContent;
  if (!Object.hasOwn(MAKERS, name) || text.length > LONGEST || code.querySelector("mark")) return;
  if (!patterns.has(name)) patterns.set(name, MAKERS[name]());
  const nodes = [];
  let at = 0;
  for (const { 0: token, index, groups } of text.matchAll(patterns.get(name))) {
    const span = document.createElement("span");
    [span.className] = Object.entries(groups).find(([, value]) => value !== undefined);
    span.textContent = token;
    nodes.push(text.slice(at, index), span);
    at = index + token.length;
  }
  code.replaceChildren(...nodes, text.slice(at));
}
