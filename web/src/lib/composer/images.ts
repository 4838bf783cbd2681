/** Reads pasted and dropped pictures. */
import type { Image } from '$lib/protocol/types';

/** A message may have 16 MiB; base64 takes a third more than the file. */
const LARGEST = 8 * 1024 * 1024;

export async function imagesOf(
  files: FileList | undefined
): Promise<{ images: Image[] } | { failure: string }> {
  const images: Image[] = [];
  for (const file of files ?? []) {
    if (!file.type.startsWith('image/')) {
      return { failure: `${file.name} is no picture. Say its path instead, and the agent reads it.` };
    }
    if (file.size > LARGEST) return { failure: `${file.name} is larger than 8 MB. Make it smaller first.` };
    images.push({ type: 'image', data: await base64(file), mime_type: file.type });
  }
  return { images };
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onerror = () => reject(reader.error ?? new Error(`cannot read ${file.name}`));
    reader.onload = () => resolve(String(reader.result).split(',', 2)[1] ?? '');
    reader.readAsDataURL(file);
  });
}
