import { type Json, problemResponses, requestIdHeader, schemaOf } from './openapi-parts.ts';
import { StorageObject } from './storage.shapes.ts';
import { objectSumHeader, objectsPrefix } from './storage.ts';

const shared = {
  tags: ['storage'],
  security: [],
  parameters: [
    { name: 'token', in: 'path', required: true, schema: { type: 'string' } },
    { name: 'name', in: 'path', required: true, schema: { type: 'string' } },
  ] as Json[],
};
const bytes = { schema: { type: 'string', format: 'binary' } };
const StoredObject = StorageObject.pick({ key: true, size: true, sha256: true, content_type: true });
const stored = {
  headers: { ...requestIdHeader, ETag: { schema: { type: 'string' } } },
  content: { 'application/json': { schema: schemaOf(StoredObject, 'output') } },
};
const refusals = ['forbidden', 'url_expired', 'unavailable', 'internal'] as const;
const header = (name: string, description: string): Json => ({
  name,
  in: 'header',
  required: false,
  schema: { type: 'string' },
  description,
});

/** Signed addresses: the address itself is the right, for as long as whoever made it has theirs. */
export const objectPaths: Record<string, Json> = {
  [`${objectsPrefix}{token}/{name}`]: {
    get: {
      ...shared,
      operationId: 'objects.get',
      summary: 'Download an object by its signed address',
      parameters: [
        ...shared.parameters,
        header('Range', 'One range, `bytes=0-99`.'),
        header('If-None-Match', 'The ETag of what one has.'),
      ],
      responses: {
        200: { description: 'All of it.', headers: requestIdHeader, content: { '*/*': bytes } },
        206: { description: 'The range.', headers: requestIdHeader, content: { '*/*': bytes } },
        304: { description: 'It is what one has.' },
        ...problemResponses([...refusals, 'not_found', 'range_not_satisfiable']),
      },
    },
    put: {
      ...shared,
      operationId: 'objects.put',
      summary: 'Upload an object to its signed address',
      parameters: [
        ...shared.parameters,
        header(objectSumHeader, 'SHA-256 of the body in hexadecimal; what arrives otherwise is not stored.'),
      ],
      requestBody: { required: true, content: { '*/*': bytes } },
      responses: {
        200: { description: 'Stored, in the place of the one before.', ...stored },
        201: { description: 'Stored.', ...stored },
        ...problemResponses([
          ...refusals,
          ...(['validation_failed', 'request_timeout', 'app_not_active', 'storage_not_enabled'] as const),
          ...(['limit_reached', 'payload_too_large', 'unsupported_media_type'] as const),
        ]),
      },
    },
  },
};
