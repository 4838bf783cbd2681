import { expect, it } from 'vitest';
import { imagesOf } from './images';

const file = (name: string, type: string, bytes = 3) => new File([new Uint8Array(bytes)], name, { type });

it('pictures are read as base64', async () => {
  expect(await imagesOf([file('a.png', 'image/png')])).toEqual({
    images: [{ type: 'image', data: 'AAAA', mime_type: 'image/png' }]
  });
  expect(await imagesOf(undefined)).toEqual({ images: [] });
});

it('what cannot be sent is refused with a reason', async () => {
  expect(await imagesOf([file('a.txt', 'text/plain')])).toEqual({
    failure: 'a.txt is no picture. Say its path instead, and the agent reads it.'
  });
  const large = file('b.png', 'image/png', 9 * 1024 * 1024);
  expect(await imagesOf([large])).toEqual({ failure: 'b.png is larger than 8 MB. Make it smaller first.' });
  const half = file('c.png', 'image/png', 6 * 1024 * 1024);
  const before = await imagesOf([half]);
  if (!('images' in before)) throw new Error(before.failure);
  expect(await imagesOf([half], before.images)).toEqual({
    failure: 'With c.png the message is too large. Send the pictures in several messages.'
  });
});
