/** What one line says of a tool call. */
import { isBusy, type Call, type View } from '$lib/protocol/view';
import { visible } from '$lib/text/plain';

export type CallState = 'writing' | 'waiting' | 'running' | 'done' | 'failed' | 'interrupted';

export function stateOf(call: Call, status: View['status']): CallState {
  if (call.result) {
    const exit = call.result.exitCode ?? 0;
    return call.result.isError || exit !== 0 ? 'failed' : 'done';
  }
  if (!isBusy(status)) return 'interrupted';
  if (call.started) return 'running';
  return Object.keys(call.args).length === 0 && call.argsText ? 'writing' : 'waiting';
}

/** What it is about: the first of these arguments that it has. */
const ABOUT = ['command', 'pattern', 'path', 'query', 'question', 'name', 'task', 'url'];

export function aboutOf(call: Call): string {
  for (const key of ABOUT) {
    const value = call.args[key];
    if (typeof value !== 'string' || !value) continue;
    const place =
      key === 'pattern' && typeof call.args['path'] === 'string' ? ` in ${call.args['path']}` : '';
    return firstLine(value + place);
  }
  if (Object.keys(call.args).length > 0) return firstLine(JSON.stringify(call.args));
  // The arguments are not whole yet; the beginning of one already says something.
  const begun = /"(?:command|path|pattern|query)"\s*:\s*"((?:[^"\\]|\\.)*)/.exec(call.argsText)?.[1];
  return begun ? firstLine(begun.replace(/\\n/g, '\n').replace(/\\(.)/g, '$1')) : '';
}

function firstLine(text: string): string {
  const [line = '', ...rest] = visible(text).trim().split('\n');
  return rest.length > 0 ? `${line} …` : line;
}

/** The result as text. */
export function resultText(call: Call): string {
  const content = call.result?.content;
  if (!content) return '';
  switch (content.kind) {
    case 'text':
      return content.text;
    case 'error':
      return content.message;
    case 'json':
      return JSON.stringify(content.value, null, 2);
    default:
      return '';
  }
}

/** “read 7 files”, “searched 2 times” … */
export function describeReads(calls: Call[]): string {
  const of = (...names: string[]) => calls.filter((call) => names.includes(call.name)).length;
  const reads = of('read');
  const searches = of('grep', 'find');
  const lists = of('ls');
  const others = calls.length - reads - searches - lists;
  const parts = [
    reads > 0 && `read ${reads === 1 ? '1 file' : `${reads} files`}`,
    searches > 0 && `searched ${searches === 1 ? 'once' : `${searches} times`}`,
    lists > 0 && `listed ${lists === 1 ? '1 folder' : `${lists} folders`}`,
    others > 0 && `${others === 1 ? '1 other look-up' : `${others} other look-ups`}`
  ];
  return parts.filter(Boolean).join(', ');
}
