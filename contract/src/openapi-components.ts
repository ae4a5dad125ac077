import { z } from 'zod';
import type { ContractEntry } from './all.ts';
import { isObject } from './json.ts';
import type { Json } from './openapi-parts.ts';

type Direction = 'input' | 'output';

export class SchemaComponents {
  readonly schemas: Record<string, Json> = {};
  readonly #names: ReadonlyMap<z.ZodType, string>;

  constructor(names: ReadonlyMap<z.ZodType, string>) {
    this.#names = names;
    for (const schema of names.keys()) this.schema(schema, 'output');
  }

  schema(schema: z.ZodType, direction: Direction): Json {
    const { $schema: _, $defs = {}, ...json } = this.#toJson(schema, direction);
    const renamed = new Map<string, string>();
    for (const name of Object.keys($defs as Json)) renamed.set(name, this.#componentName(name, direction));
    for (const [name, definition] of Object.entries($defs as Json))
      this.schemas[renamed.get(name) ?? name] ??= withReferences(definition, renamed) as Json;
    return withReferences(json, renamed) as Json;
  }

  add(name: string, json: Json): Json {
    if (!isObject(json.properties) || Object.keys(json.properties).length === 0) return json;
    const existing = this.schemas[name];
    if (existing && JSON.stringify(existing) !== JSON.stringify(json))
      throw new Error(`Two schemas have the name ${name}.`);
    this.schemas[name] = json;
    return { $ref: `#/components/schemas/${name}` };
  }

  components(): Record<string, Json> {
    const resources = [...this.#names.values()].flatMap((name) => {
      const json = this.schemas[name];
      return json && isObject(json.properties) ? [{ name, json }] : [];
    });
    return Object.fromEntries(
      Object.entries(this.schemas)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, json]) => [name, asExtension(name, json, resources)]),
    );
  }

  body({ name, shape }: ContractEntry): Json | null {
    return shape.body ? this.add(pascalCase(name), this.schema(shape.body, 'input')) : null;
  }

  answer({ name, shape }: ContractEntry): Json {
    const json = this.schema(shape.answer, 'output');
    const item = pageItem(json);
    return this.add(item === null ? `${pascalCase(name)}Result` : `${item}Page`, json);
  }

  #toJson(schema: z.ZodType, io: Direction): Json {
    const metadata = {
      get: (each: z.ZodType) => {
        const id = this.#names.get(each);
        return id === undefined ? z.globalRegistry.get(each) : { ...z.globalRegistry.get(each), id };
      },
    } as typeof z.globalRegistry;
    return z.toJSONSchema(schema, {
      io,
      metadata,
      unrepresentable: 'any',
      target: 'draft-2020-12',
      override: ({ jsonSchema }) => {
        // Answers may get more properties in later versions, and extensions of a resource refer to it.
        if (io === 'output' && jsonSchema.additionalProperties === false)
          delete jsonSchema.additionalProperties;
        // Client generators need a type beside each of several patterns.
        for (const part of jsonSchema.allOf ?? []) if (part.pattern !== undefined) part.type ??= 'string';
      },
    });
  }

  /** Sent values differ from received ones by defaults; a resource that is both has two components. */
  #componentName(name: string, direction: Direction): string {
    if (direction === 'output') return name;
    const schema = [...this.#names].find(([, each]) => each === name)?.[0];
    if (!schema) return name;
    const [sent, received] = (['input', 'output'] as const).map((io) =>
      JSON.stringify(this.#toJson(schema, io)),
    );
    return sent === received ? name : `${name}Input`;
  }
}

function asExtension(name: string, json: Json, resources: readonly { name: string; json: Json }[]): Json {
  const { properties, required, ...rest } = json as { properties?: Json; required?: string[] };
  if (!properties || Object.keys(rest).some((key) => key !== 'type')) return json;
  const isBase = (base: { name: string; json: Json }) =>
    base.name !== name &&
    (!resources.some((each) => each.name === name) || name.endsWith(base.name)) &&
    Object.keys(base.json.properties as Json).length > 2 &&
    Object.keys(base.json.properties as Json).length < Object.keys(properties).length &&
    Object.keys(base.json).every((key) => ['type', 'properties', 'required'].includes(key)) &&
    Object.entries(base.json.properties as Json).every(
      ([key, value]) => JSON.stringify(properties[key]) === JSON.stringify(value),
    ) &&
    ((base.json.required ?? []) as string[]).every((key) => required?.includes(key));
  const size = ({ json: base }: { json: Json }) => Object.keys(base.properties as Json).length;
  const [base] = resources.filter(isBase).sort((a, b) => size(b) - size(a));
  if (!base) return json;
  const inherited = base.json.properties as Json;
  const own = Object.entries(properties).filter(([key]) => !(key in inherited));
  const ownRequired = (required ?? []).filter(
    (key) => !((base.json.required ?? []) as string[]).includes(key),
  );
  const extension = { type: 'object', properties: Object.fromEntries(own) };
  return {
    allOf: [
      { $ref: `#/components/schemas/${base.name}` },
      ownRequired.length > 0 ? { ...extension, required: ownRequired } : extension,
    ],
  };
}

function pageItem(json: Json): string | null {
  const { items, page, total } = (json.properties ?? {}) as Record<string, Json | undefined>;
  const reference = (items?.items as Json | undefined)?.$ref;
  return page && total && typeof reference === 'string' ? (reference.split('/').at(-1) ?? null) : null;
}

const pascalCase = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);

function withReferences(value: unknown, renamed: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => withReferences(item, renamed));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => {
      if (key !== '$ref' || typeof part !== 'string') return [key, withReferences(part, renamed)];
      const name = part.replace('#/$defs/', '');
      return [key, `#/components/schemas/${renamed.get(name) ?? name}`];
    }),
  );
}

interface SharedComponents {
  paths: Record<string, Json>;
  parameters: Record<string, Json>;
  responses: Record<string, Json>;
  headers: Record<string, Json>;
}

export function shareComponents(paths: Record<string, Json>): SharedComponents {
  const parameters = new SharedValues('parameters', (parameter) => `${parameter.name}.${parameter.in}`);
  const headers = new SharedValues('headers', (_, name) => name);
  const responses = new SharedValues('responses', responseName);
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods) as Json[]);
  for (const operation of operations) {
    for (const parameter of listOf(operation.parameters)) parameters.count(parameter, '');
    for (const [, response] of entriesOf(operation.responses)) {
      for (const [name, header] of entriesOf(response.headers)) headers.count(header, name);
    }
  }
  for (const operation of operations) {
    for (const [status, response] of entriesOf(operation.responses)) {
      // A response without a body or codes has no name of its own.
      if (status === '204' || responseName(response, status) !== status)
        responses.count(withSharedHeaders(response), status);
    }
  }
  function withSharedHeaders(response: Json): Json {
    if (!isObject(response.headers)) return response;
    const shared = entriesOf(response.headers).map(([name, header]) => [name, headers.replace(header, name)]);
    return { ...response, headers: Object.fromEntries(shared) };
  }
  // A path may have `parameters` beside its methods.
  const replaceIn = (operation: Json): Json =>
    Array.isArray(operation)
      ? operation
      : {
          ...operation,
          parameters:
            operation.parameters && listOf(operation.parameters).map((each) => parameters.replace(each, '')),
          responses: Object.fromEntries(
            entriesOf(operation.responses).map(([status, response]) => [
              status,
              responses.replace(withSharedHeaders(response), status),
            ]),
          ),
        };
  const shared = Object.entries(paths).map(([path, methods]) => [
    path,
    Object.fromEntries(entriesOf(methods).map(([method, operation]) => [method, replaceIn(operation)])),
  ]);
  return {
    paths: Object.fromEntries(shared),
    parameters: parameters.components,
    responses: responses.components,
    headers: headers.components,
  };
}

function responseName({ description, content }: Json, status: string): string {
  const codes = [...String(description).matchAll(/`(\w+)`:/g)].map(([, code]) => code);
  const schemas = [...JSON.stringify(content ?? {}).matchAll(/#\/components\/schemas\/(\w+)/g)].map(
    ([, name]) => name,
  );
  return [status, ...(codes.length > 0 ? codes : schemas)].join('.');
}

class SharedValues {
  readonly components: Record<string, Json> = {};
  readonly #kind: string;
  readonly #nameOf: (value: Json, key: string) => string;
  readonly #counts = new Map<string, number>();
  readonly #names = new Map<string, string>();

  constructor(kind: string, nameOf: (value: Json, key: string) => string) {
    this.#kind = kind;
    this.#nameOf = nameOf;
  }

  count(value: Json, key: string): void {
    const id = key + JSON.stringify(value);
    this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
  }

  replace(value: Json, key: string): Json {
    const id = key + JSON.stringify(value);
    if ((this.#counts.get(id) ?? 0) < 2) return value;
    let name = this.#names.get(id);
    if (name === undefined) {
      const base = this.#nameOf(value, key);
      name = base;
      for (let number = 2; name in this.components; number++) name = `${base}.${number}`;
      this.#names.set(id, name);
      this.components[name] = value;
    }
    return { $ref: `#/components/${this.#kind}/${name}` };
  }
}

const listOf = (value: unknown) => (Array.isArray(value) ? (value as Json[]) : []);
const entriesOf = (value: unknown) => Object.entries((value ?? {}) as Record<string, Json>);
