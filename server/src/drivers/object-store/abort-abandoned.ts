import { isKey } from './keys.ts';
import type { S3Client } from './s3-client.ts';
import { elementsOf, textOf } from './s3-xml.ts';

/** Parts of an upload whose process was killed are shown to nobody, but kept and paid for until someone tells S3. */
export async function abortAbandoned(client: S3Client, { before }: { before: Date }): Promise<void> {
  let from: Record<string, string> = {};
  for (;;) {
    const { text } = await client.ask({ method: 'GET', query: { uploads: '', ...from } }, [200]);
    for (const upload of elementsOf(text, 'Upload')) {
      const key = textOf(upload, 'Key') ?? '';
      const uploadId = textOf(upload, 'UploadId') ?? '';
      if (!isKey(key) || !(new Date(textOf(upload, 'Initiated') ?? '') < before)) continue;
      await client.ask({ method: 'DELETE', key, query: { uploadId } }, [200, 204, 404]);
    }
    const keyMarker = textOf(text, 'NextKeyMarker');
    if (textOf(text, 'IsTruncated') !== 'true' || !keyMarker) return;
    from = { 'key-marker': keyMarker, 'upload-id-marker': textOf(text, 'NextUploadIdMarker') ?? '' };
  }
}
