/** Colours code of the languages that are common here; anything else stays plain, and escaped. */
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import markdown from 'highlight.js/lib/languages/markdown';
import python from 'highlight.js/lib/languages/python';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';

const LANGUAGES = {
  bash,
  c,
  cpp,
  css,
  diff,
  go,
  ini,
  java,
  javascript,
  json,
  markdown,
  python,
  rust,
  sql,
  typescript,
  xml,
  yaml
};

for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);
hljs.registerAliases(['svelte', 'vue'], { languageName: 'xml' });

/** More than this takes longer than a glance is worth. */
const LONGEST = 60_000;

/** HTML of the code: everything that came is escaped, and only `span`s are added. */
export function highlight(code: string, language?: string): string {
  const name = language?.toLowerCase();
  if (!name || code.length > LONGEST || !hljs.getLanguage(name)) return escape(code);
  return hljs.highlight(code, { language: name, ignoreIllegals: true }).value;
}

export function escape(text: string): string {
  return text
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;')
    .replace(/'/g, '&#39;');
}

/** The language that a file's ending stands for. */
export function languageOf(path: string | undefined): string | undefined {
  const ending = path?.split('.').at(-1)?.toLowerCase();
  return ending === 'toml' ? 'ini' : ending;
}
