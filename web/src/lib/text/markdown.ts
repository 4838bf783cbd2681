/**
 * A model's markdown as HTML that is safe to show: HTML in it is shown as text, links open apart and
 * tell nobody where from, and no picture is fetched from anywhere.
 */
import createDOMPurify from 'dompurify';
import { Marked, type Token } from 'marked';
import { escape, highlight } from './highlight';
import { plain } from './plain';

const marked = new Marked({
  gfm: true,
  breaks: false,
  renderer: {
    html: ({ text }) => escape(text),
    code: ({ text, lang }) => {
      const language = lang?.split(/\s/, 1)[0];
      return (
        `<div class="code-block"><div class="code-head"><span>${escape(language || 'text')}</span>` +
        `<button type="button" data-copy>copy</button></div>` +
        `<pre><code>${highlight(text, language)}</code></pre></div>`
      );
    },
    image: ({ href, text }) => {
      if (/^(data:image\/|blob:)/i.test(href)) return `<img src="${escape(href)}" alt="${escape(text)}">`;
      return `<a href="${escape(href)}">${escape(text || 'picture')}</a> (picture, not loaded)`;
    },
    table(token) {
      const cells = (row: typeof token.header, tag: string) =>
        `<tr>${row.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`;
      const body = token.rows.map((row) => cells(row, 'td')).join('');
      return `<div class="table"><table><thead>${cells(token.header, 'th')}</thead><tbody>${body}</tbody></table></div>`;
    }
  }
});

const purify = createDOMPurify(window);

purify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName === 'A') {
    node.setAttribute('target', '_blank');
    node.setAttribute('rel', 'noopener noreferrer nofollow');
  }
});

const ALLOWED = {
  ALLOWED_TAGS: [
    ...['p', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'strong', 'em', 'del', 'code', 'pre'],
    ...['ul', 'ol', 'li', 'blockquote', 'a', 'img', 'input', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
    ...['div', 'span', 'button']
  ],
  ALLOWED_ATTR: ['href', 'src', 'alt', 'title', 'class', 'type', 'checked', 'disabled', 'start', 'data-copy'],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|blob:|data:image\/)/i,
  ALLOW_DATA_ATTR: false
};

/** Parts of a stream that are complete come again and again while it grows. */
const KEPT = 400;
const cache = new Map<string, string>();

/** The HTML of each top-level part, so that parts that did not change stay as they are on the page. */
export function renderBlocks(text: string): string[] {
  const bare = plain(text);
  try {
    return blocks(bare);
  } catch {
    // Nested deeper than the parser can go.
    return [`<pre><code>${escape(bare)}</code></pre>`];
  }
}

function blocks(text: string): string[] {
  const tokens = marked.lexer(text);
  const shown = tokens.filter((token) => token.type !== 'space' && token.type !== 'def');
  // Where `[text][name]` leads is said elsewhere in the text, perhaps later in the stream.
  const links = Object.keys(tokens.links).length > 0 ? JSON.stringify(tokens.links) : '';
  return shown.map((token) => render(token, token.raw + links));
}

function render(token: Token, key: string): string {
  const known = cache.get(key);
  if (known !== undefined) return known;
  const html = purify.sanitize(marked.parser([token]), ALLOWED);
  if (cache.size >= KEPT) cache.delete(cache.keys().next().value!);
  cache.set(key, html);
  return html;
}
