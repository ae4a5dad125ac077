import { z } from 'zod';
import { appParams } from './apps.shapes.ts';
import { empty, text, timestamp, unchanged, wholeNumber } from './shapes.ts';
import {
  contentTypeCharsMax,
  contentTypeDefault,
  downloadUrlSecondsDefault,
  objectDelimiterCharsMax,
  objectKeyBytesMax,
  objectListLimitDefault,
  objectListLimitMax,
  rowFilesPrefix,
  signedUrlSecondsMax,
  storageObjectBytesMax,
  uploadUrlSecondsDefault,
} from './storage.ts';

/** Excludes U+10FFFF, which ends every range of keys. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
const refusedCharacters = /[\u0000-\u001f\u007f-\u009f\u{10ffff}]/u;
const keyPart = text.refine((value) => !refusedCharacters.test(value), {
  error: 'must not contain control characters',
});

export const objectKey = keyPart
  .refine((value) => value !== '' && new TextEncoder().encode(value).length <= objectKeyBytesMax, {
    error: `must be 1 to ${objectKeyBytesMax} bytes of UTF-8`,
  })
  .refine((value) => !value.split('/').some((part) => part === '' || part === '.' || part === '..'), {
    error: 'must not begin or end with / nor have the parts //, . or ..',
  })
  .meta({ description: 'A key such as `reports/2027/january.pdf`.' });

/** Of an object that is written. */
const newObjectKey = objectKey.refine((value) => !value.startsWith(rowFilesPrefix), {
  error: `must not begin with ${rowFilesPrefix}, where files of rows are`,
});

export const contentType = z
  .string()
  .max(contentTypeCharsMax)
  .regex(/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?: ?; ?[\w!#$&^.+-]+=(?:[\w!#$&^.+-]+|"[^"\\]*"))*$/, {
    error: 'must be a media type, such as image/png',
  })
  .refine((value) => /^[ -~]*$/.test(value), { error: 'must be of ASCII characters' });

export const StorageObject = z.object({
  key: z.string(),
  size: z.int(),
  content_type: z.string(),
  sha256: z.string(),
  created_at: timestamp,
  updated_at: timestamp,
});

const Storage = z.object({
  enabled: z.boolean(),
  enabled_at: timestamp.nullable(),
  objects: z.int(),
  bytes: z.int(),
  bytes_max: z.int(),
});

const seconds = (default_: number) => wholeNumber(1, signedUrlSecondsMax).default(default_);

export const getStorage = { params: appParams, answer: Storage };
export const enableStorage = { params: appParams, answer: Storage.extend({ changed: unchanged }) };
export const listObjects = {
  params: appParams,
  query: z.strictObject({
    prefix: keyPart.max(objectKeyBytesMax).default(''),
    delimiter: keyPart
      .min(1)
      .max(objectDelimiterCharsMax)
      .meta({ description: 'Keys that contain it after the prefix are grouped up to it.' })
      .optional(),
    limit: wholeNumber(1, objectListLimitMax)
      .default(objectListLimitDefault)
      .meta({ description: 'Limit of objects and groups together.' }),
    cursor: text.min(1).max(8_000).optional(),
  }),
  answer: z.object({
    items: z.array(StorageObject),
    prefixes: z.array(z.string()),
    next_cursor: z.string().nullable(),
  }),
};
export const getObjectUrl = {
  params: appParams,
  query: z.strictObject({ key: objectKey, expires_in: seconds(downloadUrlSecondsDefault) }),
  answer: StorageObject.extend({ url: z.string(), expires_at: timestamp }),
};
export const signUpload = {
  params: appParams,
  body: z.strictObject({
    key: newObjectKey,
    content_type: contentType.default(contentTypeDefault),
    size: z
      .int()
      .min(0)
      .max(storageObjectBytesMax)
      .meta({ description: 'Exact size of the upload in bytes.' })
      .optional(),
    expires_in: seconds(uploadUrlSecondsDefault),
  }),
  answer: z.object({
    key: z.string(),
    put_url: z.string(),
    expires_at: timestamp,
    headers: z.record(z.string(), z.string()).meta({ description: 'Headers to send with the PUT.' }),
  }),
};
export const copyObject = {
  params: appParams,
  body: z.strictObject({ from: objectKey, to: newObjectKey }),
  answer: StorageObject.extend({ changed: unchanged }),
};
export const deleteObject = {
  params: appParams,
  query: z.strictObject({ key: objectKey }),
  answer: empty,
};
