/**
 * Files that tools save. `scope` is the digest of the session, or of the user for names that begin with `user:`. The foreign key removes the rows of a deleted
 * session, even if a node of an earlier version, which does not know this table, deletes the session.
 */
export const ARTIFACTS = `
create table {schema}.artifacts (
  n bigint generated always as identity primary key,
  session bigint references {schema}.sessions on delete cascade,
  scope text collate "C" not null, name text collate "C" not null, version integer not null,
  part text not null, bytes bytea, media_type text, metadata text,
  operation uuid not null,
  unique (scope, name, version)
);
create index on {schema}.artifacts (session) where session is not null;

create function {schema}.save_artifact(
  p_name text, p_fence bigint, p_operation uuid, p_scope text, p_artifact text, p_part text, p_bytes bytea,
  p_media_type text, p_metadata text
) returns integer language plpgsql as $$
declare s bigint := {schema}.need(p_name, p_fence); v integer;
begin
  -- Several sessions of a user may save under one name at once.
  perform pg_advisory_xact_lock(hashtextextended(p_scope || p_artifact, 0));
  select version into v from {schema}.artifacts where scope = p_scope and name = p_artifact and operation = p_operation;
  if found then return v; end if;
  insert into {schema}.artifacts (session, scope, name, version, part, bytes, media_type, metadata, operation)
    values (
      case when p_scope = p_name then s end, p_scope, p_artifact,
      (select coalesce(max(version), -1) + 1 from {schema}.artifacts where scope = p_scope and name = p_artifact),
      p_part, p_bytes, p_media_type, p_metadata, p_operation
    ) returning version into v;
  return v;
end $$;

create function {schema}.remove_artifact(p_name text, p_fence bigint, p_scope text, p_artifact text) returns void
language plpgsql as $$
begin
  perform {schema}.need(p_name, p_fence);
  delete from {schema}.artifacts where scope = p_scope and name = p_artifact;
end $$;
`;

/** The statements that read artifacts. `$1` is the scope; the names of artifacts are read from two scopes, `$1` and `$2`. */
export function artifactStatements(schema: string) {
  const of = `${schema}.artifacts where scope = $1`;
  return {
    artifact: `select part, bytes, media_type, metadata from ${of} and name = $2
        and ($3::integer is null or version = $3) order by version desc limit 1`,
    artifactNames: `select distinct name from ${schema}.artifacts where scope in ($1, $2)`,
    artifactVersions: `select version, media_type, metadata from ${of} and name = $2 order by version`,
    artifactBytes: `select coalesce(sum(${bytesIn('artifacts')}), 0)::float8 as size from ${of}`,
  };
}

/** An SQL expression for the number of bytes in a row of the table of artifacts. `table` is the name or alias of that table in the statement. */
export function bytesIn(table: string): string {
  const size = (column: string) => `coalesce(octet_length(${table}.${column}), 0)`;
  return `${size('part')} + ${size('bytes')} + ${size('metadata')}`;
}
