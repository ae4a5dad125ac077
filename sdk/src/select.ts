/** Relations of a table by their names in `select`; `svc tables types` prints them. */
export interface RelationTypes {
  [name: string]: { kind: 'one' | 'many'; to: { Row: object; Relations?: object } };
}

export type Column<Row> = keyof Row & string;

/** `author.name`: a column of a related row, where the relations of the table are not known. */
export type RelatedColumn = `${string}.${string}`;

/** Relations that a condition can name; one with a hint (`mails!sender`) needs an alias in `select`. */
export type RelationName<Relations> =
  IsAny<Relations> extends true ? never : Exclude<keyof Relations & string, `${string}!${string}`>;

/** Columns, and those of related rows: `author.name`, `post.author.name`. */
export type FieldName<Row, Relations, Kind = 'one' | 'many'> = unknown extends Relations
  ? Column<Row> | RelatedColumn
  : Path<Row, Relations, Kind, [1]>;

/** Columns are listed over one relation only: over more they are too many for the compiler. `Field` checks the others. */
type Path<Row, Relations, Kind, Hops extends unknown[]> =
  | Column<Row>
  | {
      [Name in RelationName<Relations>]: Relations[Name & keyof Relations] extends {
        kind: Kind;
        to: { Row: infer To; Relations?: infer More };
      }
        ? `${Name}.${Hops extends [unknown, ...infer Rest] ? Path<To, More, Kind, Rest> & string : string}`
        : never;
    }[RelationName<Relations>];

/** `unknown` where relations are not known, `never` for a path to no column. */
export type FieldValue<Row, Relations, Name> = Name extends keyof Row
  ? Row[Name]
  : unknown extends Relations
    ? unknown
    : Name extends `${infer First}.${infer Rest}`
      ? Relations[First & keyof Relations] extends { to: { Row: infer To; Relations?: infer More } }
        ? string extends Rest
          ? unknown
          : FieldValue<To, unknown extends More ? Record<never, never> : More, Rest>
        : never
      : never;

export type Field<Row, Relations, Name> = Name &
  ([FieldValue<Row, Relations, Name>] extends [never] ? never : unknown);

/** What conditions in groups compare: columns of the row and of those that it refers to. */
export type Fields<Row, Relations> = {
  [Name in FieldName<Row, Relations, 'one'>]: FieldValue<Row, Relations, Name>;
};

type Directed<Name extends string> = Name | `-${Name}`;
export type SortKey<Row, Relations> = Directed<FieldName<Row, Relations, 'one'>>;

/** Relations to several rows, also those of related rows: `posts.comments`. */
export type ManyName<Relations> = unknown extends Relations ? string : ManyPath<Relations, [1]>;

type ManyPath<Relations, Hops extends unknown[]> = {
  [Name in RelationName<Relations>]: Relations[Name & keyof Relations] extends {
    kind: infer Kind;
    to: { Relations?: infer More };
  }
    ?
        | (Kind extends 'many' ? Name : never)
        | (Hops extends [unknown, ...infer Rest] ? `${Name}.${ManyPath<More, Rest> & string}` : never)
    : never;
}[RelationName<Relations>];

export type RelatedSortKey<Relations, Name> = unknown extends Relations
  ? string
  : Name extends `${infer First}.${infer Rest}`
    ? Relations[First & keyof Relations] extends { to: { Relations?: infer More } }
      ? RelatedSortKey<More, Rest>
      : never
    : Relations[Name & keyof Relations] extends { to: { Row: infer To; Relations?: infer More } }
      ? Directed<Path<To, More, 'one', [1]> & string>
      : never;

/**
 * A column, `*`, columns under other names (`{ heading: 'title' }`), or related rows with what is selected of them:
 * `{ author: ['name'], comments: ['id', 'body'] }`, also `{ 'by:author!inner': ['name'] }`.
 */
export type Selection<Row> = Column<Row> | '*' | Readonly<Record<string, Column<Row> | readonly unknown[]>>;
export type Selections<Row> = readonly [Selection<Row>, ...Selection<Row>[]];

type WithoutAlias<Key> = Key extends `${string}:${infer Rest}` ? Rest : Key;
type WithoutJoin<Key> = Key extends `${infer Rest}!inner` | `${infer Rest}!left` ? Rest : Key;
type WithoutHint<Key> = Key extends `${infer Rest}!${string}` ? Rest : Key;
type KeyOf<Key> = Key extends `${infer Alias}:${string}` ? Alias : WithoutHint<Key>;

type RelationOf<Relations, Key> =
  WithoutJoin<WithoutAlias<Key>> extends keyof Relations
    ? Relations[WithoutJoin<WithoutAlias<Key>>]
    : WithoutHint<WithoutAlias<Key>> extends keyof Relations
      ? Relations[WithoutHint<WithoutAlias<Key>>]
      : null;

type IsAny<T> = 0 extends 1 & T ? true : false;

type Embedded<Relations, Key, Items extends readonly unknown[]> =
  IsAny<Relations> extends true
    ? Relations
    : RelationOf<Relations, Key> extends { kind: infer Kind; to: { Row: infer Row; Relations?: infer More } }
      ? Kind extends 'many'
        ? Selected<Row, More, Items[number]>[]
        : Key extends `${string}!inner`
          ? Selected<Row, More, Items[number]>
          : Selected<Row, More, Items[number]> | null
      : never;

/** The same items, with `never` for what is no column or relation. */
export type Checked<Row, Relations, Items> = unknown extends Relations
  ? unknown
  : CheckedItems<Row, Relations, Items>;

type CheckedItems<Row, Relations, Items> = {
  readonly [At in keyof Items]: Items[At] extends object
    ? {
        readonly [Key in keyof Items[At]]: Items[At][Key] extends readonly unknown[]
          ? RelationOf<Relations, Key> extends { to: { Row: infer To; Relations?: infer More } }
            ? CheckedItems<To, More, Items[At][Key]>
            : never
          : Column<Row>;
      }
    : Column<Row> | '*';
};

/** The relations, and those that were selected by the keys of these. */
export type WithSelected<Relations, Item> = unknown extends Relations
  ? Relations
  : Over<Relations, MergedEmbeds<SelectedRelations<Relations, Item>>>;

type SelectedRelations<Relations, Item> = Item extends object
  ? {
      [Key in keyof Item as Item[Key] extends readonly unknown[] ? KeyOf<Key> & string : never]: RelationOf<
        Relations,
        Key
      > extends { kind: infer Kind; to: { Row: infer To; Relations?: infer More } }
        ? {
            kind: Kind;
            to: { Row: To; Relations: WithSelected<More, (Item[Key] & readonly unknown[])[number]> };
          }
        : never;
    }
  : never;

type Plain<Row, Item> = Item extends '*'
  ? Row
  : Item extends keyof Row
    ? Pick<Row, Item>
    : Item extends object
      ? { [Alias in keyof Item as Item[Alias] extends string ? Alias : never]: Row[Item[Alias] & keyof Row] }
      : never;

type Embeds<Relations, Item> = Item extends object
  ? {
      [Key in keyof Item as Item[Key] extends readonly unknown[]
        ? KeyOf<Key> & string
        : never]: Item[Key] extends readonly unknown[] ? Embedded<Relations, Key, Item[Key]> : never;
    }
  : never;

type Merged<U> = (U extends unknown ? (each: U) => void : never) extends (all: infer I) => void
  ? { [K in keyof I]: I[K] }
  : never;
type MergedEmbeds<U> = [U] extends [never] ? Record<never, never> : Merged<U>;
type Over<Under, Upper> = { [K in keyof Omit<Under, keyof Upper>]: Under[K & keyof Under] } & Upper;

export type Selected<Row, Relations, Item> =
  IsAny<Row> extends true
    ? Row
    : Merged<Over<Merged<Plain<Row, Item>>, MergedEmbeds<Embeds<Relations, Item>>>>;

export function selectItems(items: readonly unknown[]): string[] {
  return items.flatMap((item) => {
    if (typeof item !== 'object' || item === null) return [String(item)];
    return Object.entries(item).map(([key, value]) =>
      Array.isArray(value) ? `${key}(${selectItems(value).join(',')})` : `${key}:${value}`,
    );
  });
}

export interface RelatedOptions<Key = string> {
  sort?: readonly Key[];
  /** At most 100, which is the default. */
  limit?: number;
}

export function relatedParameters(
  name: string,
  { sort, limit }: RelatedOptions<unknown>,
): [string, string][] {
  return [
    ...(sort ? [[`${name}.sort`, sort.join(',')] as [string, string]] : []),
    ...(limit === undefined ? [] : [[`${name}._limit`, String(limit)] as [string, string]]),
  ];
}
