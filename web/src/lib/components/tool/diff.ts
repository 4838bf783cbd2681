import type { Hunk, LineKind, RenderDescriptor } from '$lib/protocol/types';

export interface DiffLine {
  kind: LineKind | 'gap';
  text: string;
  old?: number;
  new?: number;
}

/** A hunk's lines with their numbers on both sides, after a gap if something lies between. */
export function numbered(hunk: Hunk, gap: boolean): DiffLine[] {
  let before = hunk.old_start;
  let after = hunk.new_start;
  const lines = hunk.lines.map((line): DiffLine => {
    if (line.kind === 'add') return { ...line, new: after++ };
    if (line.kind === 'del') return { ...line, old: before++ };
    return { ...line, old: before++, new: after++ };
  });
  return gap ? [{ kind: 'gap', text: '' }, ...lines] : lines;
}

export function changes(
  render: RenderDescriptor | undefined
): { added: number; removed: number } | undefined {
  if (render?.kind !== 'diff') return undefined;
  const lines = render.hunks.flatMap((hunk) => hunk.lines);
  const number = (kind: LineKind) => lines.filter((line) => line.kind === kind).length;
  return { added: number('add'), removed: number('del') };
}
