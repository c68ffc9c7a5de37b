import { LIMITS } from './limits.ts';
import { DATA } from './wire/data.ts';

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

type Result<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

/** A schema of any library that follows Standard Schema, such as zod or valibot. Its validation must not be asynchronous. */
export interface DataSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly validate: (value: unknown) => Result<Output> | Promise<Result<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** The schemas of the `data-*` parts that an application declares, by their names without `data-`. */
export type DataSchemas = Readonly<Record<string, DataSchema>>;

type TypesOf<Schema> = Schema extends DataSchema ? NonNullable<Schema['~standard']['types']> : never;

/** The data parts that an application declared, as messages have them. Without a particular record of schemas there are none. */
export type OwnDataParts<SCHEMAS extends DataSchemas> = string extends keyof SCHEMAS
  ? unknown
  : { [Name in keyof SCHEMAS & string]: TypesOf<SCHEMAS[Name]>['output'] };

/** A transient value of data that an application declared, as a page gets it. */
export type OwnTransientData<SCHEMAS extends DataSchemas> = string extends keyof SCHEMAS
  ? never
  : {
      [Name in keyof SCHEMAS & string]: {
        type: `data-${Name}`;
        id?: string;
        data: TypesOf<SCHEMAS[Name]>['output'];
        transient?: boolean;
      };
    }[keyof SCHEMAS & string];

/** The names of the data parts that an application declared. */
export type OwnDataName<SCHEMAS extends DataSchemas> = keyof SCHEMAS & string;

/** What a tool passes for a data part: the value before its schema changes it. */
export type OwnDataInput<
  SCHEMAS extends DataSchemas,
  Name extends OwnDataName<SCHEMAS>,
> = string extends keyof SCHEMAS ? unknown : TypesOf<SCHEMAS[Name]>['input'];

/** What is wrong with a name for own data; null when it can be declared. */
export function ownDataNameFault(name: string): string | null {
  if (Object.hasOwn(DATA, name)) return 'the protocol has a chunk of that name';
  if (/^[A-Za-z][\w-]*$/.test(name) && name.length <= LIMITS.idLength) return null;
  return 'a name has letters, digits, "-" and "_", and begins with a letter';
}

/** The value of own data as its schema makes it. Throws an error with a clear text for a value that does not fit, and for a name that is not declared. */
export function readOwnData(schemas: DataSchemas, name: string, value: unknown): unknown {
  const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
  if (!schema) throw new Error('it is not declared in the option "data" of createDuologue');
  const result = schema['~standard'].validate(value);
  if (result instanceof Promise) {
    result.catch(() => undefined);
    throw new Error('its schema validates asynchronously; use one that does not');
  }
  if (!result.issues) return result.value;
  const issues = result.issues.map((issue) => `${pathOf(issue) || 'the value'}: ${issue.message}`);
  throw new Error(`it does not fit its schema: ${issues.join('; ')}`);
}

function pathOf({ path = [] }: Issue): string {
  return path.map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
}
