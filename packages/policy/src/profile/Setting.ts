/**
 * Declares a setting once: its type, and what pages, editors, the environment and the configuration in force have of it.
 *
 * A struct of settings is an ordinary schema. `rows` and `defaults` are the folds over it; every list of settings is made by them.
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

/** What a setting is, beside its type. */
export interface About {
  /** A sentence in Markdown, without its first capital and its last full stop. */
  readonly doc: string
  /** What holds without the key, in words, where that is no value, or not the same for all. */
  readonly unset?: string
  /** The default of each profile in Markdown, where they differ. */
  readonly profiles?: readonly [overnight: string, interactive: string, cycling: string]
  /** The environment variable that overrides the file. */
  readonly env?: string
  /** The flag of the command line that overrides both. */
  readonly flag?: string
  /** The value, or what people write in its place, is in no message and on no screen. */
  readonly isSecret?: true
}

/** A setting with a default. */
export type Defaulted<S extends Schema.Constraint> = Schema.optionalKey<S> & { readonly [DEFAULT]: () => S["Type"] }

/** The values of a struct's settings with a default, as `defaults` returns them. */
export type SettingDefaults<F extends Schema.Struct.Fields> = {
  readonly [K in keyof F as F[K] extends { readonly [DEFAULT]: () => unknown } ? K : never]: F[K]["Type"]
}

/** A setting of a schema. */
export interface Row extends About {
  /** Its path, such as `server.port`; `*` stands for a name that the operator chooses. */
  readonly key: string
  /** What holds without the key, as a file has it. */
  readonly default?: unknown
  readonly isRequired: boolean
  readonly type: SchemaAST.AST
}

/** Declares a setting that may be left out. `default` is what holds then, as a file has it. */
export function setting<S extends Schema.ConstraintDecoder<unknown>>(
  type: S,
  about: About & { readonly default: S["Encoded"] }
): Defaulted<S>
export function setting<S extends Schema.ConstraintDecoder<unknown>>(
  type: S,
  about: About & { readonly default?: S["Encoded"] }
): Schema.optionalKey<S>
export function setting<S extends Schema.ConstraintDecoder<unknown>>(
  type: S,
  about: About & { readonly default?: S["Encoded"] }
) {
  const key = Schema.optionalKey(type).annotateKey({ setting: about })
  return "default" in about
    ? Object.assign(key, { [DEFAULT]: () => Schema.decodeUnknownSync(type)(about.default) })
    : key
}

/** Declares a setting whose value, or what people write in its place, is in no message and on no screen. */
export const secret = <S extends Schema.ConstraintDecoder<unknown>>(type: S, about: Omit<About, "isSecret">) =>
  setting(type, { ...about, isSecret: true })

/** Declares a setting that may not be left out. */
export const required = <S extends Schema.Top>(type: S, about: About): S["Rebuild"] =>
  type.annotateKey({ setting: about })

/** The settings of a schema, by key. Members of a union share their keys: the first declaration counts. */
export const rows = (schema: Schema.Constraint): ReadonlyMap<string, Row> => {
  const found = new Map<string, Row>()
  const walk = (ast: SchemaAST.AST, path: ReadonlyArray<string>): void => {
    if (SchemaAST.isUnion(ast)) for (const member of ast.types) walk(member, path)
    if (!SchemaAST.isObjects(ast)) return
    for (const { name, type } of ast.propertySignatures) {
      const inner = [...path, String(name)]
      const key = inner.join(".")
      const about = type.context?.annotations?.["setting"]
      if (isAbout(about) && !found.has(key))
        found.set(key, { ...about, key, isRequired: !SchemaAST.isOptional(type), type })
      walk(type, inner)
    }
    for (const { type } of ast.indexSignatures) walk(type, [...path, "*"])
  }
  walk(schema.ast, [])
  return found
}

/** The defaults of a struct's settings, decoded. A default that its own type refuses is a bug, and throws. */
export const defaults = <F extends Schema.Struct.Fields>({ fields }: Schema.Struct<F>): SettingDefaults<F> =>
  // `Object.entries` forgets which key has which type.
  Object.fromEntries(
    Object.entries<Schema.Constraint & { readonly [DEFAULT]?: () => unknown }>(fields).flatMap(([name, field]) =>
      field[DEFAULT] === undefined ? [] : [[name, field[DEFAULT]()]]
    )
  ) as SettingDefaults<F>

// --- internal

const DEFAULT: unique symbol = Symbol.for("@holdfast/policy/Setting/default")

const isAbout = (annotation: unknown): annotation is About & { readonly default?: unknown } =>
  Predicate.hasProperty(annotation, "doc")
