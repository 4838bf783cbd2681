/** What the transcript draws, line by line: messages taken apart, runs of reading put together. */
import type { ContentBlock, Message } from '$lib/protocol/types';
import { isReadOnly, type Call, type Item, type Remark, type View } from '$lib/protocol/view';

type ImageBlock = Extract<ContentBlock, { type: 'image' }>;

export type Row =
  | { kind: 'user'; key: string; text: string; images: ImageBlock[] }
  | { kind: 'text'; key: string; text: string; live: boolean }
  | { kind: 'thinking'; key: string; text: string; live: boolean }
  | { kind: 'tool'; key: string; call: string }
  | { kind: 'reads'; key: string; calls: string[] }
  | { kind: 'broken-off'; key: string }
  | { kind: 'remark'; key: string; remark: Remark };

/** From how many on a run of reading calls is put together. */
const RUN = 3;

export class Rows {
  /** A message that did not change gives the very same rows, so that nothing of it is drawn anew. */
  readonly #known = new WeakMap<Message, { live: boolean; rows: Row[] }>();

  of(view: View): Row[] {
    const streams = view.status === 'streaming' || view.turn !== undefined;
    const last = view.items.findLast((item) => item.kind === 'message');
    const rows = view.items.flatMap((item) => this.#rows(item, streams && item === last));
    return group(rows, view.calls);
  }

  #rows(item: Item, live: boolean): Row[] {
    if (item.kind !== 'message') return [{ kind: 'remark', key: item.id, remark: item }];
    const known = this.#known.get(item.message);
    if (known?.live === live) return known.rows;
    const rows = item.message.role === 'user' ? userRows(item.message) : assistantRows(item.message, live);
    this.#known.set(item.message, { live, rows });
    return rows;
  }
}

function userRows(message: Message): Row[] {
  const texts = message.content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  const images = message.content.filter((block) => block.type === 'image');
  return [{ kind: 'user', key: message.id, text: texts.join('\n\n'), images }];
}

function assistantRows(message: Message, live: boolean): Row[] {
  const streams = live && (message.partial ?? false);
  const rows = message.content.flatMap((block, at): Row[] => {
    const key = `${message.id}/${at}`;
    const grows = streams && at === message.content.length - 1;
    if (block.type === 'text')
      return block.text.trim() ? [{ kind: 'text', key, text: block.text, live: grows }] : [];
    if (block.type === 'thinking') {
      return block.text.trim() || grows ? [{ kind: 'thinking', key, text: block.text, live: grows }] : [];
    }
    return block.type === 'tool_call' ? [{ kind: 'tool', key, call: block.id }] : [];
  });
  if (message.partial && !streams) rows.push({ kind: 'broken-off', key: `${message.id}/cut` });
  return rows;
}

function group(rows: Row[], calls: Record<string, Call>): Row[] {
  const grouped: Row[] = [];
  let run: Extract<Row, { kind: 'tool' }>[] = [];
  const close = () => {
    const first = run[0];
    if (first && run.length >= RUN) {
      grouped.push({ kind: 'reads', key: `${first.key}/run`, calls: run.map((row) => row.call) });
    } else grouped.push(...run);
    run = [];
  };
  for (const row of rows) {
    const call = row.kind === 'tool' ? calls[row.call] : undefined;
    const quiet = call?.result && !call.result.isError && isReadOnly(call) && call.name !== 'ask_user';
    if (row.kind === 'tool' && quiet) run.push(row);
    else {
      close();
      grouped.push(row);
    }
  }
  close();
  return grouped;
}
