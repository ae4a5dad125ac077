import {
  binary,
  etagHeader,
  header,
  type Json,
  jsonContent,
  problemResponses,
  requestIdHeader,
  requiredParameter,
  schemaOf,
  securityOf,
} from './openapi-parts.ts';
import { StorageObject } from './storage.shapes.ts';
import { objectSumHeader, objectsPrefix } from './storage.ts';

const shared = {
  tags: ['storage'],
  security: [],
  parameters: [requiredParameter('path', 'token'), requiredParameter('path', 'name')] as Json[],
};
const bytes = { schema: binary };
const StoredObject = StorageObject.pick({ key: true, size: true, sha256: true, content_type: true });
const stored = {
  headers: { ...requestIdHeader, ...etagHeader },
  content: jsonContent(schemaOf(StoredObject, 'output')),
};
const refusals = ['forbidden', 'url_expired', 'unavailable', 'internal'] as const;

/** The signed URL is the credential, as long as its issuer keeps the right. */
export const objectPaths: Record<string, Json> = {
  '/data/{tenant}/{app}/{table}/{id}/_files/{column}': {
    get: {
      tags: ['files'],
      operationId: 'files.get',
      summary: 'Download the file of a row: for those who may read the value',
      security: securityOf({ credential: 'login_or_pat' }),
      parameters: [
        ...['tenant', 'app', 'table', 'id', 'column'].map((name) => requiredParameter('path', name)),
        header('Range', 'One range, `bytes=0-99`.'),
        header('If-None-Match', 'The ETag of what one has.'),
      ],
      responses: {
        200: { description: 'The file.', headers: requestIdHeader, content: { '*/*': bytes } },
        206: { description: 'The range.', headers: requestIdHeader, content: { '*/*': bytes } },
        304: { description: 'Not modified.' },
        ...problemResponses([
          'unauthenticated',
          'not_found',
          'forbidden',
          'range_not_satisfiable',
          'unavailable',
          'internal',
        ]),
      },
    },
  },
  [`${objectsPrefix}{token}/{name}`]: {
    get: {
      ...shared,
      operationId: 'objects.get',
      summary: 'Download an object by its signed URL',
      parameters: [
        ...shared.parameters,
        header('Range', 'One range, `bytes=0-99`.'),
        header('If-None-Match', 'The ETag of what one has.'),
      ],
      responses: {
        200: { description: 'The whole object.', headers: requestIdHeader, content: { '*/*': bytes } },
        206: { description: 'The range.', headers: requestIdHeader, content: { '*/*': bytes } },
        304: { description: 'Not modified.' },
        ...problemResponses([...refusals, 'not_found', 'range_not_satisfiable']),
      },
    },
    put: {
      ...shared,
      operationId: 'objects.put',
      summary: 'Upload an object to its signed URL',
      parameters: [
        ...shared.parameters,
        header(objectSumHeader, 'SHA-256 of the body in hexadecimal; what arrives otherwise is not stored.'),
      ],
      requestBody: { required: true, content: { '*/*': bytes } },
      responses: {
        200: { description: 'Stored; replaces the previous object.', ...stored },
        201: { description: 'Stored.', ...stored },
        ...problemResponses([
          ...refusals,
          'validation_failed',
          'request_timeout',
          'app_not_active',
          'storage_not_enabled',
          'limit_reached',
          'payload_too_large',
          'unsupported_media_type',
        ]),
      },
    },
  },
};
