import type { Outlet } from './outlet.ts';
import type { OpenBody } from './send-answer.ts';

const lineEnd = Buffer.from('\r\n');
const lastChunk = Buffer.from('0\r\n\r\n');

/** Throws where the body breaks off, or is not as long as was said: the client must not take it for whole. */
export async function sendBody(outlet: Outlet, open: OpenBody, progressed: () => void): Promise<void> {
  const { framing } = open;
  const reader = open.body.getReader();
  let left = typeof framing === 'number' ? framing : Number.POSITIVE_INFINITY;
  outlet.onClose = () => void reader.cancel().catch(() => {});
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (outlet.isClosed) return;
      if (done) break;
      progressed();
      left -= value.length;
      if (left < 0) throw new RangeError('the body is longer than was said');
      if (value.length === 0) continue;
      if (framing === 'chunks') outlet.put(Buffer.from(`${value.length.toString(16)}\r\n`));
      outlet.put(value);
      if (framing === 'chunks') outlet.put(lineEnd);
      outlet.flush();
      await outlet.empty();
    }
    if (typeof framing === 'number' && left > 0) throw new RangeError('the body is shorter than was said');
    if (framing === 'chunks') outlet.put(lastChunk);
    outlet.flush();
  } finally {
    outlet.onClose = null;
    void reader.cancel().catch(() => {});
  }
}
