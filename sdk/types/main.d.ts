/** Public API of the package: everything that is not exported here may change without notice. */
export type { Aggregated, AggregateOptions, AggregateSelect } from './aggregate.js';
export { type Auth, type Client, type ClientOptions, type Connector, createClient, type DatabaseTypes, } from './client.js';
export type { Condition, Json, Operand, Operator } from './condition.js';
export { SvcBatchError, SvcError, type SvcErrorCode, SvcNetworkError } from './errors.js';
export type { FileValue, UploadOptions } from './files.js';
export type { LiveChange, LiveRows } from './live.js';
export type { Filter, ManyChanged, ManyOptions } from './many-rows.js';
export type { ListObjectsOptions, ObjectBody, ObjectList, Objects, ObjectUrl, PutOptions, StoredObject, } from './objects.js';
export type { Operation, OperationResult, OperationsOptions, Reference } from './operations.js';
export type { Restored, RestoredRequest, RowChange, RowChanges } from './past-rows.js';
export type { FindPeople, NamedPerson } from './people.js';
export type { CallOptions, CountOptions, LiveOptions, Page, Query } from './query.js';
export type { RelatedColumn, RelatedOptions, RelationTypes, Selection } from './select.js';
export { createSignIn, type SignedIn, type SignIn, SignInError, type SignInOptions, type SignInStorage, type User, } from './sign-in.js';
export type { BatchOptions, InsertOptions, OwnAccess, Plan, Table, UpdateOptions } from './table.js';
