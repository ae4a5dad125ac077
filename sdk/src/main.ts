/** Public API of the package: everything that is not exported here may change without notice. */
export type { Aggregated, AggregateOptions, AggregateSelect } from './aggregate.ts';
export {
  type Auth,
  type Client,
  type ClientOptions,
  type Connector,
  createClient,
  type DatabaseTypes,
} from './client.ts';
export type { Condition, Json, Operand, Operator } from './condition.ts';
export { SvcBatchError, SvcError, type SvcErrorCode, SvcNetworkError } from './errors.ts';
export type { FileValue, UploadOptions } from './files.ts';
export type { LiveChange, LiveRows } from './live.ts';
export type { Filter, ManyChanged, ManyOptions } from './many-rows.ts';
export type {
  ListObjectsOptions,
  ObjectBody,
  ObjectList,
  Objects,
  ObjectUrl,
  PutOptions,
  StoredObject,
} from './objects.ts';
export type { Operation, OperationResult, OperationsOptions, Reference } from './operations.ts';
export type { Restored, RestoredRequest, RowChange, RowChanges } from './past-rows.ts';
export type { FindPeople, NamedPerson } from './people.ts';
export type { CallOptions, CountOptions, LiveOptions, Page, Query } from './query.ts';
export type { RelatedColumn, RelatedOptions, RelationTypes, Selection } from './select.ts';
export {
  createSignIn,
  type SignedIn,
  type SignIn,
  SignInError,
  type SignInOptions,
  type SignInStorage,
  type User,
} from './sign-in.ts';
export type { BatchOptions, InsertOptions, OwnAccess, Plan, Table, UpdateOptions } from './table.ts';
