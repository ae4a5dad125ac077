-- The deployment in review that may read the database with a login of its own.
alter table svc.raw_databases add column review_of uuid;
