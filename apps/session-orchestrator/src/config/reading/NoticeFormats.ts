/** Defines the formats of notices in a configuration. `delivery/NoticeFormat.ts` writes them. */
import { Setting } from "@holdfast/policy"
import { Schema } from "effect"
import { matching, text } from "./SettingTypes.ts"

/** The fields that a template may name. */
export const FIELDS = [
  "id",
  "type",
  "title",
  "text",
  "provider",
  "model",
  "since",
  "at",
  "waiting",
  "failed",
  "reason"
] as const

/** A field in a template. */
export const PLACEHOLDER = /\{\{\s*([a-zA-Z]+)\s*\}\}/g

/** The first braces that name no field, such as `{{env.KEY}}`: a mistake, because they would be sent as they stand. */
const unknownField = (template: string): string | undefined => {
  const rest = template.replaceAll(PLACEHOLDER, (braces, name: string) =>
    FIELDS.some((field) => field === name) ? "" : braces
  )
  return /\{\{[^{}]{0,40}(?:\}\})?/.exec(rest)?.[0]
}

const TEMPLATE = `a text with {{${FIELDS.join("}}, {{")}}}; in a JSON text values are escaped`
const ADDRESS = 'an e-mail address, such as "oncall@example.org"'

const Address = matching(/^[^\s<>,;"]+@[^\s<>,;"]+$/, ADDRESS)

/** The formats, by name. */
export const FormatName = Schema.Literals(["json", "slack", "ntfy", "email", "template"]).annotate({
  message: 'Expected "json", "slack", "ntfy", "email" or "template"'
})

/** The addresses of e-mails. */
export const Email = Schema.Struct({
  from: Setting.required(Address, { doc: 'sender of notices in the format `"email"`', unset: "none" }),
  to: Setting.required(Address, { doc: 'recipient of notices in the format `"email"`', unset: "none" })
})

/** The text of a template. */
export const Template = text(TEMPLATE).check(
  Schema.isMinLength(1, { message: `Expected ${TEMPLATE}` }),
  Schema.makeFilter(
    (template) => {
      const unknown = unknownField(template)
      return unknown === undefined || `Expected ${TEMPLATE}; ${unknown} is none of these fields`
    },
    { toJsonSchema: () => [{ minLength: 1 }, true] }
  )
)

/** The format of a receiver, with what it needs. */
export type Format = "json" | "slack" | "ntfy" | { readonly email: typeof Email.Type } | { readonly template: string }
