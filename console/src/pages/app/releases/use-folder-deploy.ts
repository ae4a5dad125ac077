import { ProblemError } from '@svc/contract/client.ts';
import { mapConcurrently } from '@svc/contract/concurrency.ts';
import { createRelease, finalizeRelease, grantUpload } from '@svc/contract/static-sites.ts';
import { useEffect, useRef, useState } from 'react';
import { client } from '../../../api/client.ts';
import { useChange } from '../../../change/use-change.ts';
import { putFileWithRetries } from '../files/put-file.ts';
import type { SelectedFile } from '../files/select-files.tsx';
import { useApp, useLeaveGuard } from '../use-app.tsx';
import { type SiteFiles, selectSiteFiles } from './site-files.ts';

type Draft = { id: string; state: string; missing: string[]; missing_bytes: number; upload_url: string };

export type DeployStage =
  | { at: 'choosing' }
  | { at: 'reading' | 'sending'; bytes: number; total: number }
  | { at: 'sent'; release: string }
  | { at: 'done'; release: string; url: string | null; text: string }
  | { at: 'stopped'; problem: unknown };

export function useFolderDeploy() {
  const { params } = useApp();
  const [siteFiles, setSiteFiles] = useState<SiteFiles<File> | null>(null);
  const [stage, setStage] = useState<DeployStage>({ at: 'choosing' });
  const stop = useRef(new AbortController());
  const isGone = useRef(false);
  const hashed = useRef<HashedFile[]>([]);
  useLeaveGuard({ isOn: stage.at === 'reading' || stage.at === 'sending' });
  useEffect(() => {
    isGone.current = false;
    return () => {
      isGone.current = true;
      stop.current.abort();
    };
  }, []);

  const finalize = useChange(finalizeRelease, {
    title: 'Finish the release',
    done: 'Release finished.',
    onDone: ({ id, url, pointer }) => {
      setSiteFiles(null);
      setStage({ at: 'done', release: id, url, text: doneTexts[pointer ?? 'none'] });
    },
  });
  const create = useChange(createRelease, {
    title: 'Deploy a folder',
    verb: 'Upload',
    done: 'Release created.',
    onDone: (draft) => void send(draft),
  });

  async function send(draft: Draft) {
    if (draft.state !== 'draft') {
      setStage({ at: 'done', release: draft.id, url: null, text: 'These files are already deployed.' });
      return;
    }
    const total = draft.missing_bytes;
    await orStopped(async (signal) => {
      setStage({ at: 'sending', bytes: 0, total });
      await uploadMissing({
        params: { ...params, release: draft.id },
        draft,
        files: hashed.current,
        signal,
        onProgress: (bytes) => setStage({ at: 'sending', bytes, total }),
      });
      signal.throwIfAborted();
      await end(draft.id);
    });
  }

  async function end(release: string) {
    setStage({ at: 'sent', release });
    await finalize.propose({ params: { ...params, release } });
  }

  async function deploy(version: string) {
    if (!siteFiles) return;
    await orStopped(async (signal) => {
      let bytes = 0;
      setStage({ at: 'reading', bytes, total: siteFiles.bytes });
      hashed.current = await hashFiles(siteFiles.files, {
        signal,
        onHashed: (size) => {
          bytes += size;
          setStage({ at: 'reading', bytes, total: siteFiles.bytes });
        },
      });
      signal.throwIfAborted();
      const files = hashed.current.map(({ path, sha256, file }) => ({ path, sha256, size: file.size }));
      setStage({ at: 'choosing' });
      await create.propose({ params, body: { version, files, on_finalize: 'deploy' } });
    });
  }

  async function orStopped(work: (signal: AbortSignal) => Promise<void>) {
    if (isGone.current) return;
    stop.current = new AbortController();
    try {
      await work(stop.current.signal);
    } catch (problem) {
      setStage({ at: 'stopped', problem: stop.current.signal.aborted ? null : problem });
    }
  }

  return {
    siteFiles,
    stage,
    problem: create.problem ?? finalize.problem,
    isBusy: create.isBusy || finalize.isBusy,
    choose: (files: SelectedFile[]) => {
      create.clear();
      setSiteFiles(selectSiteFiles(files));
      setStage({ at: 'choosing' });
    },
    deploy,
    end,
    cancel: () => stop.current.abort(),
    reset: () => {
      setSiteFiles(null);
      setStage({ at: 'choosing' });
    },
  };
}

const doneTexts: Record<'active' | 'staged' | 'none', string> = {
  active: 'The release is live.',
  staged: 'The release is staged. Check it, then request promotion.',
  none: 'The release is stored but not live: an app that is visible beyond its owners shows only reviewed releases. Enable staging, stage it and request promotion.',
};

interface HashedFile {
  path: string;
  file: File;
  sha256: string;
}

const hashConcurrency = 4;

function hashFiles(
  files: readonly { path: string; file: File }[],
  { signal, onHashed }: { signal: AbortSignal; onHashed: (bytes: number) => void },
): Promise<HashedFile[]> {
  return mapConcurrently(files, hashConcurrency, async ({ path, file }) => {
    signal.throwIfAborted();
    const digest = await crypto.subtle.digest('SHA-256', await file.arrayBuffer());
    onHashed(file.size);
    return { path, file, sha256: hex(new Uint8Array(digest)) };
  });
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

interface UploadJob {
  params: { tenantID: string; app: string; release: string };
  draft: { missing: readonly string[]; upload_url: string };
  files: readonly HashedFile[];
  signal: AbortSignal;
  onProgress: (bytes: number) => void;
}

const uploadConcurrency = 4;

async function uploadMissing({ params, draft, files, signal, onProgress }: UploadJob): Promise<void> {
  const byDigest = new Map(files.map((file) => [file.sha256, file]));
  const sent = new Map<string, number>();
  const report = (digest: string, bytes: number) => {
    sent.set(digest, bytes);
    onProgress([...sent.values()].reduce((total, each) => total + each, 0));
  };
  let uploadUrl = Promise.resolve(draft.upload_url);

  async function send(digest: string): Promise<void> {
    const file = byDigest.get(digest)?.file;
    if (!file) throw new Error('The server requested a file that is not part of this release.');
    const options = { signal, onProgress: (bytes: number) => report(digest, bytes) };
    const usedUrl = uploadUrl;
    try {
      await putFileWithRetries((await usedUrl) + digest, file, options);
    } catch (error) {
      if (!(error instanceof ProblemError) || error.problem.code !== 'url_expired') throw error;
      // Only the first worker that finds the URL expired requests a new one; the confirmation covers it.
      if (uploadUrl === usedUrl)
        uploadUrl = client.call(grantUpload, { params }, { signal }).then(({ upload_url }) => upload_url);
      await putFileWithRetries((await uploadUrl) + digest, file, options);
    }
    report(digest, file.size);
  }

  await mapConcurrently([...new Set(draft.missing)], uploadConcurrency, send);
}
