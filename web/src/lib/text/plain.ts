/** Makes text of models and tools harmless to show: no escape codes, no control characters. */

// CSI and OSC sequences, then any other escape of two characters.
const ESCAPES =
  /\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b./g;
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]/g;

/** What turns the direction of text around, and so can make it read as something else. */
const TURNS = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g;

/**
 * Text that a person decides on: nothing of it may be hidden, so that what cannot be seen is spelled
 * out.
 */
export function visible(text: string): string {
  const spell = (char: string) => `‹U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}›`;
  return text.replace(/\r\n/g, '\n').replace(/\r/g, spell).replace(CONTROLS, spell).replace(TURNS, spell);
}

/** Plain lines of text: colours go, a carriage return shows what would be left of its line. */
export function plain(text: string): string {
  const bare = text.replace(ESCAPES, '').replace(/\r\n/g, '\n');
  return overwritten(bare).replace(/\r/g, '').replace(CONTROLS, '').replace(TURNS, '');
}

/** What is left of each line after its carriage returns, except one at its end. */
function overwritten(text: string): string {
  if (!text.includes('\r')) return text;
  const lines = text.split('\n');
  return lines.map((line) => line.slice(line.lastIndexOf('\r', line.length - 2) + 1)).join('\n');
}

export function lastLine(text: string): string {
  return plain(text).trimEnd().split('\n').at(-1)?.trim() ?? '';
}

/** The beginning and the end of a long text, and how many lines are between. */
export function headAndTail(
  text: string,
  head = 14,
  tail = 14,
  slack = 8
): { head: string; hidden: number; tail: string } {
  const lines = text.replace(/\n$/, '').split('\n');
  if (lines.length <= head + tail + slack) return { head: lines.join('\n'), hidden: 0, tail: '' };
  return {
    head: lines.slice(0, head).join('\n'),
    hidden: lines.length - head - tail,
    tail: lines.slice(-tail).join('\n')
  };
}
