-- Indexes for full-text search: {"language": "german", "weights": ["A", "B"]}, a weight for each of the columns. Null for others.

alter table svc.app_table_indexes add column search jsonb;
create unique index app_table_indexes_search on svc.app_table_indexes (table_id) where search is not null;
