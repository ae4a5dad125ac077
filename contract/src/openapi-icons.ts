import type { ErrorCode } from './error-codes.ts';
import { Icon } from './icons.shapes.ts';
import { iconBytesMax, iconTypes } from './icons.ts';
import {
  binary,
  etagHeader,
  ifPlanParameter,
  type Json,
  jsonContent,
  problemResponses,
  requestIdHeader,
  requiredParameter,
  schemaOf,
} from './openapi-parts.ts';

const uploadErrors: readonly ErrorCode[] = [
  'validation_failed',
  'forbidden',
  'url_expired',
  'not_found',
  'request_timeout',
  'already_uploaded',
  'invalid_state_transition',
  'limit_reached',
  'plan_stale',
  'payload_too_large',
  'unsupported_media_type',
  'internal',
  'unavailable',
  'query_timeout',
];

const images = Object.fromEntries(
  iconTypes.map((type) => [type, { schema: { ...binary, maxLength: iconBytesMax } }]),
);

/** Icons are public by name, and the signed URL authorizes an upload, so neither has an authorization row. */
export const iconPaths: Record<string, Json> = {
  '/icons/{iconID}': {
    parameters: [requiredParameter('path', 'iconID', { type: 'string', format: 'uuid' })],
    get: {
      operationId: 'icons.read',
      tags: ['icons'],
      summary: 'Get an icon; public and immutable, so it can be cached for ever',
      security: [],
      responses: {
        200: { description: 'The image.', headers: etagHeader, content: images },
        304: { description: 'Not modified (If-None-Match).' },
        ...problemResponses(['not_found', 'internal', 'unavailable']),
      },
    },
    put: {
      operationId: 'icons.write',
      tags: ['icons'],
      summary: 'Upload an icon to its `put_url`; valid once, needs no login',
      security: [],
      parameters: [requiredParameter('query', 'token'), ifPlanParameter],
      requestBody: { required: true, content: images },
      responses: {
        201: {
          description: 'Done.',
          headers: requestIdHeader,
          content: jsonContent(schemaOf(Icon, 'output')),
        },
        ...problemResponses(uploadErrors),
      },
    },
  },
};
