import { read, who } from './endpoint.ts';
import type * as shapes from './files.shapes.ts';

/** Served by the row path. It reserves an id: nothing changes before a row gets the file. */
export const signFile = read<typeof shapes.signFile>()({
  id: 'files.sign',
  path: '/data/{tenant}/{app}/{table}/_files',
  method: 'POST',
  status: 201,
  summary: 'Get a signed URL for the upload of a file for a column, valid for a limited time',
  authority: { credential: 'login_or_pat', role: 'tenant_member', outsider: 'not_found' },
  who: who('O:y C:y A:g M:g P:y N:n X:n'),
  errors: [
    'unknown_column',
    'forbidden',
    'app_not_active',
    'storage_not_enabled',
    'limit_reached',
    'payload_too_large',
    'unsupported_media_type',
  ],
});
