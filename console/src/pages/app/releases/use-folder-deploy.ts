import { createRelease, finalizeRelease } from '@svc/contract/static-sites.ts';
import { useEffect, useRef, useState } from 'react';
import { useChange } from '../../../change/use-change.ts';
import type { ChosenFile } from '../files/chosen-files.ts';
import { useApp } from '../use-app.ts';
import { useLeaveGuard } from '../use-leave-guard.ts';
import { type HashedFile, hashFiles } from './hash-files.ts';
import { type Picked, pickSiteFiles } from './pick-site-files.ts';
import { uploadMissing } from './upload-missing.ts';

type Draft = { id: string; state: string; missing: string[]; missing_bytes: number; upload_url: string };

export type DeployStage =
  | { at: 'choosing' }
  | { at: 'reading' | 'sending'; bytes: number; total: number }
  /** All files are there, and whoever did it is asked whether it may be shown. */
  | { at: 'sent'; release: string }
  | { at: 'done'; release: string; url: string | null; text: string }
  /** Stopped, or broken off; the same folder goes on where it was. */
  | { at: 'stopped'; problem: unknown };

/** A folder becomes a release: its sums, a draft, the files that are missing, the end. Both changes are previewed. */
export function useFolderDeploy() {
  const { params } = useApp();
  const [picked, setPicked] = useState<Picked<File> | null>(null);
  const [stage, setStage] = useState<DeployStage>({ at: 'choosing' });
  const stop = useRef(new AbortController());
  const isGone = useRef(false);
  const hashed = useRef<HashedFile[]>([]);
  useLeaveGuard({ isOn: stage.at === 'reading' || stage.at === 'sending' });
  // Who has left the page is neither sent for nor asked anything; the same folder goes on where it was.
  useEffect(() => {
    isGone.current = false;
    return () => {
      isGone.current = true;
      stop.current.abort();
    };
  }, []);

  const finalize = useChange(finalizeRelease, {
    title: 'Finish the release',
    verb: 'Finish',
    done: 'The release is finished.',
    onDone: ({ id, url, pointer }) => {
      setPicked(null);
      setStage({ at: 'done', release: id, url, text: endings[pointer ?? 'none'] });
    },
  });
  const create = useChange(createRelease, {
    title: 'Deploy a folder',
    verb: 'Upload',
    done: 'The release is begun.',
    onDone: (draft) => void send(draft),
  });

  async function send(draft: Draft) {
    if (draft.state !== 'draft') {
      setStage({ at: 'done', release: draft.id, url: null, text: 'These very files are deployed already.' });
      return;
    }
    const total = draft.missing_bytes;
    await orStopped(async (signal) => {
      setStage({ at: 'sending', bytes: 0, total });
      await uploadMissing({
        ...{ params: { ...params, release: draft.id }, draft, files: hashed.current, signal },
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
    if (!picked) return;
    await orStopped(async (signal) => {
      let bytes = 0;
      setStage({ at: 'reading', bytes, total: picked.bytes });
      hashed.current = await hashFiles(picked.files, {
        signal,
        onHashed: (size) => {
          bytes += size;
          setStage({ at: 'reading', bytes, total: picked.bytes });
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
    picked,
    stage,
    problem: create.problem ?? finalize.problem,
    isBusy: create.isBusy || finalize.isBusy,
    choose: (files: ChosenFile[]) => {
      create.clear();
      setPicked(pickSiteFiles(files));
      setStage({ at: 'choosing' });
    },
    deploy,
    end,
    cancel: () => stop.current.abort(),
    reset: () => {
      setPicked(null);
      setStage({ at: 'choosing' });
    },
  };
}

const endings: Record<'active' | 'staged' | 'none', string> = {
  active: 'Visitors see it now.',
  staged: 'It is staged. Look at it, then ask for its promotion.',
  none: 'It is kept and shown nowhere: beyond its owners, an app shows only what was reviewed. Turn staging on, stage it and ask for its promotion.',
};
