import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { Decrypter, Encrypter } from 'age-encryption';
import { validationError } from '../../core/problem.ts';

type Bytes = AsyncIterable<Uint8Array>;

/** For `age` recipients: reading the file needs one of their identities. */
export function createEncryption(recipients: readonly string[]): (bytes: Bytes) => Bytes {
  const encrypter = new Encrypter();
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient);
    } catch {
      throw validationError('recipient', `${recipient} is not a public key of age, such as age1…`);
    }
  }
  return async function* (bytes) {
    yield* await encrypter.encrypt(toStream(bytes));
  };
}

const header = Buffer.from('age-encryption.org/');

export async function isEncrypted(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer } = await handle.read(Buffer.alloc(header.length), 0, header.length, 0);
    return buffer.equals(header);
  } finally {
    await handle.close();
  }
}

/** The lines of an identity file of `age`, without comments. */
export function readIdentities(path: string): string[] {
  const lines = readText(path)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (lines.length === 0) throw validationError('identity', `${path} contains no identity`);
  return lines;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw validationError(
      'identity',
      `file ${path} cannot be read: ${error instanceof Error ? error.message : error}`,
    );
  }
}

export async function* decryptBytes(bytes: Bytes, identities: readonly string[]): AsyncGenerator<Uint8Array> {
  if (identities.length === 0)
    throw validationError('identity', 'is required, because the backup is encrypted');
  const decrypter = new Decrypter();
  for (const identity of identities) {
    try {
      decrypter.addIdentity(identity);
    } catch {
      throw validationError(
        'identity',
        'contains a line that is not an identity of age, such as AGE-SECRET-KEY-1…',
      );
    }
  }
  const decrypted = await decrypter.decrypt(toStream(bytes)).catch((error: unknown) => {
    if (!String(error).includes('no identity matched')) throw error;
    throw validationError('identity', 'does not open the backup, which is encrypted for others');
  });
  yield* decrypted;
}

function toStream(bytes: Bytes): ReadableStream<Uint8Array> {
  const iterator = bytes[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await iterator.return?.()),
  });
}
