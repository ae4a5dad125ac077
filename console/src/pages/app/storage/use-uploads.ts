import { mapConcurrently } from '@svc/contract/concurrency.ts';
import { contentTypeDefault, signUpload } from '@svc/contract/storage.ts';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useBatch } from '../../../change/use-batch.ts';
import { useToast } from '../../../components/toasts.tsx';
import { putFileWithRetries } from '../files/put-file.ts';
import type { SelectedFile } from '../files/select-files.tsx';
import { useApp, useLeaveGuard } from '../use-app.tsx';

export interface Upload {
  key: string;
  size: number;
  sent: number;
  state: 'sending' | 'done' | 'stopped' | 'failed';
  problem: unknown;
}

const atOnce = 3;

export function useUploads(prefix: string) {
  const { params } = useApp();
  const queries = useQueryClient();
  const showToast = useToast();
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const stop = useRef(new AbortController());
  const isGone = useRef(false);
  useLeaveGuard({ isOn: uploads.some(({ state }) => state === 'sending') });
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
    done: (files: readonly SelectedFile[]) =>
      files.length === 1 ? 'Upload started.' : `${files.length} uploads started.`,
    input: ({ path, file }: SelectedFile) => ({
      params,
      body: { key: prefix + path, content_type: file.type || contentTypeDefault, size: file.size },
    }),
    onDone: (signed) => void send(signed),
  });

  async function send(
    signed: {
      item: SelectedFile;
      answer: { key: string; put_url: string; headers: Record<string, string> };
    }[],
  ) {
    if (isGone.current) return;
    stop.current = new AbortController();
    const { signal } = stop.current;
    setUploads(
      signed.map(({ item, answer: { key } }) => ({
        key,
        size: item.file.size,
        sent: 0,
        state: 'sending' as const,
        problem: null,
      })),
    );
    const ends = await mapConcurrently(signed, atOnce, async ({ item, answer }) => {
      const { key, put_url, headers } = answer;
      try {
        await putFileWithRetries(put_url, item.file, {
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
    if (ends.every((end) => end)) showToast(ends.length === 1 ? 'File uploaded.' : 'All files uploaded.');
    await queries.invalidateQueries();
  }

  return { uploads, sign, stop: () => stop.current.abort(), clear: () => setUploads([]) };
}
