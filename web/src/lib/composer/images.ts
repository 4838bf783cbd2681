/** Reads pictures that are pasted, dropped or picked. */
import type { Image } from '$lib/protocol/types';

/** A message may have 16 MiB; base64 takes a third more than the file. */
const LARGEST = 8 * 1024 * 1024;
/** How much base64 all pictures of a message have together; the rest is for its text. */
const LARGEST_TOGETHER = 14 * 1024 * 1024;

const size = (images: Image[]) => images.reduce((sum, image) => sum + image.data.length, 0);

export async function imagesOf(
  files: Iterable<File> | null | undefined,
  /** What the message has already. */
  before: Image[] = []
): Promise<{ images: Image[] } | { failure: string }> {
  const images: Image[] = [];
  for (const file of files ?? []) {
    if (!file.type.startsWith('image/')) {
      return { failure: `${file.name} is no picture. Say its path instead, and the agent reads it.` };
    }
    if (file.size > LARGEST) return { failure: `${file.name} is larger than 8 MB. Make it smaller first.` };
    images.push({ type: 'image', data: await base64(file), mime_type: file.type });
    if (size(before) + size(images) > LARGEST_TOGETHER) {
      return {
        failure: `With ${file.name} the message is too large. Send the pictures in several messages.`
      };
    }
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
