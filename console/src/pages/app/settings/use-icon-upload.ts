import { iconBytesMax, iconTypes, type iconVariants, signIcon } from '@svc/contract/icons.ts';
import { useState } from 'react';
import { client } from '../../../api/client.ts';
import { usePropose } from '../../../change/change-dialog.tsx';
import { useTell } from '../../../parts/told.tsx';
import { putFile } from '../files/put-file.ts';
import { useApp } from '../use-app.ts';

export interface IconUpload {
  choose(file: File): Promise<void>;
  isBusy: boolean;
  /** What is wrong with the file itself. */
  refused: string | null;
  problem: unknown;
}

/** The address for an upload comes with the plan of it; what was confirmed is what the upload does. */
export function useIconUpload(variant: (typeof iconVariants)[number]): IconUpload {
  const { params } = useApp();
  const open = usePropose();
  const tell = useTell();
  const [isBusy, setBusy] = useState(false);
  const [refused, setRefused] = useState<string | null>(null);
  const [problem, setProblem] = useState<unknown>(null);

  async function choose(file: File) {
    setProblem(null);
    const type = iconTypes.find((one) => one === file.type);
    const reason = !type
      ? 'It is no PNG, JPEG, WebP or GIF.'
      : file.size > iconBytesMax
        ? `It is larger than ${iconBytesMax / 1024 ** 2} MB.`
        : null;
    setRefused(reason);
    if (!type || reason !== null) return;
    setBusy(true);
    const sign = () => client.call(signIcon, { params, body: { content_type: type, variant } });
    try {
      let upload = await sign();
      open({
        title: `Upload ${file.name}`,
        verb: 'Upload',
        plan: upload.plan,
        previewAgain: async () => {
          upload = await sign();
          return upload.plan;
        },
        execute: async (fingerprint) => {
          await putFile(upload.put_url, file, {
            headers: { 'content-type': type, 'if-plan': fingerprint },
            signal: new AbortController().signal,
            onProgress: () => {},
          });
          tell('The icon is uploaded.');
        },
      });
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  }

  return { choose, isBusy, refused, problem };
}
