import { LIMITS } from './limits.ts';
import { DATA } from './wire/data.ts';

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

type Result<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

/** A schema of any library that implements Standard Schema, such as zod or valibot. Its validation must not be asynchronous. */
export interface DataSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly validate: (value: unknown) => Result<Output> | Promise<Result<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** The schemas of the `data-*` parts that an application declares, by their names without `data-`. */
export type DataSchemas = Readonly<Record<string, DataSchema>>;

type TypesOf<Schema> = Schema extends DataSchema ? NonNullable<Schema['~standard']['types']> : never;

/** The types of the data parts that an application declared, as messages have them. For the general type `DataSchemas` there are none. */
export type OwnDataParts<SCHEMAS extends DataSchemas> = string extends keyof SCHEMAS
  ? unknown
  : { [Name in keyof SCHEMAS & string]: TypesOf<SCHEMAS[Name]>['output'] };

/** A transient chunk with data that an application declared, as a page gets it. */
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

/** The value that a tool passes for a data part, before the schema of the part transforms it. */
export type OwnDataInput<
  SCHEMAS extends DataSchemas,
  Name extends OwnDataName<SCHEMAS>,
> = string extends keyof SCHEMAS ? unknown : TypesOf<SCHEMAS[Name]>['input'];

/** Returns why an application cannot declare data with this name; null when it can. */
export function ownDataNameFault(name: string): string | null {
  if (Object.hasOwn(DATA, name)) return 'the protocol has a chunk of that name';
  if (/^[A-Za-z][\w-]*$/.test(name) && name.length <= LIMITS.idLength) return null;
  return 'a name has letters, digits, "-" and "_", and begins with a letter';
}

/**
 * Validates a value for data that the application declared, and returns the value that the schema makes of it. Throws an error when the name
 * is not declared, the value does not fit, or the schema validates asynchronously. The text of the error continues a sentence about the
 * data: `it does not fit its schema: …`.
 */
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
