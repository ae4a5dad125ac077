import { contentTypeDefault, signUpload } from '@svc/contract/storage.ts';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useTell } from '../../../parts/told.tsx';
import type { ChosenFile } from '../files/chosen-files.ts';
import { putFilePatiently } from '../files/put-file.ts';
import { severalAtOnce } from '../files/several-at-once.ts';
import { useApp } from '../use-app.ts';
import { useLeaveGuard } from '../use-leave-guard.ts';
import { useBatch } from './use-batch.ts';

export interface Upload {
  key: string;
  size: number;
  sent: number;
  state: 'sending' | 'done' | 'stopped' | 'failed';
  problem: unknown;
}

const atOnce = 3;

/** Files to keys: the right to each is previewed and confirmed, then they are sent side by side. */
export function useUploads(prefix: string) {
  const { params } = useApp();
  const queries = useQueryClient();
  const tell = useTell();
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const stop = useRef(new AbortController());
  const isGone = useRef(false);
  useLeaveGuard({ isOn: uploads.some(({ state }) => state === 'sending') });
  // Nothing is sent that nobody sees.
  useEffect(() => {
    isGone.current = false;
    return () => {
      isGone.current = true;
      stop.current.abort();
    };
  }, []);
  const set = (key: string, change: Partial<Upload>) =>
    setUploads((before) => before.map((each) => (each.key === key ? { ...each, ...change } : each)));

  const sign = useBatch(signUpload, {
    title: 'Upload files',
    verb: 'Upload',
    done: (files: readonly ChosenFile[]) =>
      files.length === 1 ? 'The upload has begun.' : `${files.length} uploads have begun.`,
    input: ({ path, file }: ChosenFile) => ({
      params,
      body: { key: prefix + path, content_type: file.type || contentTypeDefault, size: file.size },
    }),
    onDone: (signed) => void send(signed),
  });

  async function send(
    signed: { item: ChosenFile; answer: { key: string; put_url: string; headers: Record<string, string> } }[],
  ) {
    if (isGone.current) return;
    stop.current = new AbortController();
    const { signal } = stop.current;
    setUploads(
      signed.map(({ item, answer: { key } }) => ({
        ...{ key, size: item.file.size, sent: 0, state: 'sending' as const, problem: null },
      })),
    );
    // One that fails says so itself, and keeps no other from arriving.
    const ends = await severalAtOnce(signed, atOnce, async ({ item, answer }) => {
      const { key, put_url, headers } = answer;
      try {
        await putFilePatiently(put_url, item.file, {
          headers,
          signal,
          onProgress: (sent) => set(key, { sent }),
        });
        set(key, { sent: item.file.size, state: 'done' });
        return true;
      } catch (problem) {
        set(key, signal.aborted ? { state: 'stopped' } : { state: 'failed', problem });
        return false;
      }
    });
    if (ends.every((end) => end)) tell(ends.length === 1 ? 'The file is there.' : 'All files are there.');
    await queries.invalidateQueries();
  }

  return { uploads, sign, stop: () => stop.current.abort(), clear: () => setUploads([]) };
}
