-- Whether the rows of a table have a change feed.
alter table svc.app_tables add column changes boolean not null default false;
