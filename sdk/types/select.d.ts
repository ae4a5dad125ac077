/** Relations of a table by their names in `select`; `svc tables types` prints them. */
export interface RelationTypes {
    [name: string]: {
        kind: 'one' | 'many';
        to: {
            Row: object;
            Relations?: object;
        };
    };
}
export type Column<Row> = keyof Row & string;
/** `author.name`: a column of a related row. */
export type RelatedColumn = `${string}.${string}`;
/**
 * A column, `*`, columns under other names (`{ heading: 'title' }`), or related rows with what is selected of them:
 * `{ author: ['name'], comments: ['id', 'body'] }`, also `{ 'by:author!inner': ['name'] }`.
 */
export type Selection<Row> = Column<Row> | '*' | Readonly<Record<string, Column<Row> | readonly unknown[]>>;
type WithoutAlias<Key> = Key extends `${string}:${infer Rest}` ? Rest : Key;
type WithoutJoin<Key> = Key extends `${infer Rest}!inner` | `${infer Rest}!left` ? Rest : Key;
type WithoutHint<Key> = Key extends `${infer Rest}!${string}` ? Rest : Key;
type KeyOf<Key> = Key extends `${infer Alias}:${string}` ? Alias : WithoutHint<Key>;
type RelationOf<Relations, Key> = WithoutJoin<WithoutAlias<Key>> extends keyof Relations ? Relations[WithoutJoin<WithoutAlias<Key>>] : WithoutHint<WithoutAlias<Key>> extends keyof Relations ? Relations[WithoutHint<WithoutAlias<Key>>] : never;
type IsAny<T> = 0 extends 1 & T ? true : false;
type Embedded<Relations, Key, Items extends readonly unknown[]> = IsAny<Relations> extends true ? Relations : RelationOf<Relations, Key> extends {
    kind: infer Kind;
    to: {
        Row: infer Row;
        Relations?: infer More;
    };
} ? Kind extends 'many' ? Selected<Row, More, Items[number]>[] : Key extends `${string}!inner` ? Selected<Row, More, Items[number]> : Selected<Row, More, Items[number]> | null : never;
type Plain<Row, Item> = Item extends '*' ? Row : Item extends keyof Row ? Pick<Row, Item> : Item extends object ? {
    [Alias in keyof Item as Item[Alias] extends string ? Alias : never]: Row[Item[Alias] & keyof Row];
} : never;
type Embeds<Relations, Item> = Item extends object ? {
    [Key in keyof Item as Item[Key] extends readonly unknown[] ? KeyOf<Key> & string : never]: Item[Key] extends readonly unknown[] ? Embedded<Relations, Key, Item[Key]> : never;
} : never;
type Merged<U> = (U extends unknown ? (each: U) => void : never) extends (all: infer I) => void ? {
    [K in keyof I]: I[K];
} : never;
type MergedEmbeds<U> = [U] extends [never] ? Record<never, never> : Merged<U>;
type Over<Under, Upper> = {
    [K in keyof Omit<Under, keyof Upper>]: Under[K & keyof Under];
} & Upper;
export type Selected<Row, Relations, Item> = IsAny<Row> extends true ? Row : Merged<Over<Merged<Plain<Row, Item>>, MergedEmbeds<Embeds<Relations, Item>>>>;
export declare function selectItems(items: readonly unknown[]): string[];
export interface RelatedOptions {
    sort?: readonly string[];
    /** At most 100, which is the default. */
    limit?: number;
}
export declare function relatedParameters(name: string, { sort, limit }: RelatedOptions): [string, string][];
export {};
