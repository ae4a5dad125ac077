import type { S3Place } from '../../config.ts';
import { abortAbandoned } from './abort-abandoned.ts';
import { checkByProbe } from './check-by-probe.ts';
import { isKey, requireKey, requirePrefix, requireRange } from './keys.ts';
import { meter } from './meter.ts';
import type { ObjectStore } from './object-store.ts';
import { createS3Client, type S3Limits, s3Limits } from './s3-client.ts';
import { uploadBody } from './s3-upload.ts';
import { elementsOf, textOf } from './s3-xml.ts';
import { unavailable } from './unavailable.ts';

/** No upload takes a day. */
const abandonedMsMin = 24 * 60 * 60 * 1000;

/** A bucket of S3, or of what speaks like it. */
export function openS3Store(place: S3Place, limits: S3Limits = s3Limits): ObjectStore {
  const client = createS3Client(place, limits);
  let tidiedAt = 0;
  /** Now and then, beside the work: what it does not get done, it does the next time. */
  const tidyUp = () => {
    const now = Date.now();
    if (now - tidiedAt < abandonedMsMin) return;
    tidiedAt = now;
    abortAbandoned(client, { before: new Date(now - abandonedMsMin) }).catch(() => {});
  };

  const store: Omit<ObjectStore, 'check'> = {
    async put(key, body, { bytesMax, signal }) {
      requireKey(key);
      const metered = meter(body, { bytesMax, ...(signal ? { signal } : {}) });
      const sent = await uploadBody(client, metered.chunks, { key, bytesMax, signal });
      if (sent === 'in parts') tidyUp();
      return metered.facts();
    },

    async get(key, range) {
      requireKey(key);
      if (range) requireRange(range);
      const headers: Record<string, string> = range ? { range: `bytes=${range.start}-${range.end}` } : {};
      const answer = await client.open({ method: 'GET', key, headers }, [200, 206, 404, 416]);
      if (answer.status === 404) return null;
      // Beyond the end.
      if (answer.status === 416) return await withoutBytes(store, key);
      const body = answer.body ?? emptyStream();
      return { body, size: wholeSize(answer.headers) };
    },

    async stat(key) {
      requireKey(key);
      const { status, headers } = await client.ask({ method: 'HEAD', key }, [200, 404]);
      if (status === 200) return { size: wholeSize(headers) };
      // Only an answer with a body tells an object that is not there from a bucket that is not.
      const found = await store.get(key);
      await found?.body.cancel();
      return found && { size: found.size };
    },

    async delete(key) {
      requireKey(key);
      await client.ask({ method: 'DELETE', key }, [200, 204, 404]);
    },

    async *list(prefix, after = '') {
      requirePrefix(prefix);
      let from: Record<string, string> = after ? { 'start-after': after } : {};
      for (;;) {
        const query = { 'list-type': '2', prefix, ...from };
        const { text } = await client.ask({ method: 'GET', query }, [200]);
        for (const element of elementsOf(text, 'Contents')) {
          const key = textOf(element, 'Key') ?? '';
          if (isKey(key)) yield { key, ...factsOf(element) };
        }
        const token = textOf(text, 'NextContinuationToken');
        if (textOf(text, 'IsTruncated') !== 'true' || !token) return;
        from = { 'continuation-token': token };
      }
    },
  };
  return { ...store, check: () => checkByProbe(store, `the bucket ${place.bucket} at ${place.endpoint}`) };
}

function factsOf(element: string): { size: number; modifiedAt: Date } {
  const size = Number(textOf(element, 'Size'));
  const modifiedAt = new Date(textOf(element, 'LastModified') ?? '');
  if (!Number.isSafeInteger(size) || Number.isNaN(modifiedAt.getTime()))
    throw unavailable(new Error('S3 listed an object without its size or time'));
  return { size, modifiedAt };
}

/** Of a part, the whole is told behind the slash. */
function wholeSize(headers: Headers): number {
  const text = /\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1] ?? headers.get('content-length');
  if (text === null || !/^\d+$/.test(text)) throw unavailable(new Error('S3 told no size'));
  return Number(text);
}

async function withoutBytes(store: Pick<ObjectStore, 'stat'>, key: string) {
  const found = await store.stat(key);
  return found && { body: emptyStream(), size: found.size };
}

function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}
