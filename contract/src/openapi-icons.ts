import type { ErrorCode } from './error-codes.ts';
import { Icon } from './icons.shapes.ts';
import { iconBytesMax, iconTypes } from './icons.ts';
import { ifPlanParameter, type Json, problemResponses, requestIdHeader, schemaOf } from './openapi-parts.ts';

const uploadErrors: readonly ErrorCode[] = [
  ...(['validation_failed', 'forbidden', 'url_expired', 'not_found', 'request_timeout'] as const),
  ...(['already_uploaded', 'invalid_state_transition', 'limit_reached', 'plan_stale'] as const),
  ...(['payload_too_large', 'unsupported_media_type', 'internal', 'unavailable', 'query_timeout'] as const),
];

const images = Object.fromEntries(
  iconTypes.map((type) => [type, { schema: { type: 'string', format: 'binary', maxLength: iconBytesMax } }]),
);

/** Icons themselves. Reading is public by name; what lets an upload in is the address, so neither has a row of who may. */
export const iconPaths: Record<string, Json> = {
  '/icons/{iconID}': {
    parameters: [{ name: 'iconID', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } }],
    get: {
      operationId: 'icons.read',
      tags: ['icons'],
      summary: 'An icon, for everybody; it never changes, and may be cached for good',
      security: [],
      responses: {
        200: {
          description: 'The image.',
          headers: { ETag: { schema: { type: 'string' } } },
          content: images,
        },
        304: { description: 'The one you have, by If-None-Match.' },
        ...problemResponses(['not_found', 'internal', 'unavailable']),
      },
    },
    put: {
      operationId: 'icons.write',
      tags: ['icons'],
      summary: 'Upload an icon to the `put_url` that was given out for it; good once, without a login',
      security: [],
      parameters: [
        { name: 'token', in: 'query', required: true, schema: { type: 'string' } },
        ifPlanParameter,
      ],
      requestBody: { required: true, content: images },
      responses: {
        201: {
          description: 'Done.',
          headers: requestIdHeader,
          content: { 'application/json': { schema: schemaOf(Icon, 'output') } },
        },
        ...problemResponses(uploadErrors),
      },
    },
  },
};
