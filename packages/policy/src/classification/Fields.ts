/**
 * Reading values of unknown shape: bodies of foreign servers and whatever was thrown.
 *
 * Nothing here throws, whatever it is given: getters that throw, revoked proxies and cycles read as absent.
 */

/** A field of anything; `undefined` where there is none. */
export const get = (value: unknown, key: string): unknown => {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined
  try {
    const field: unknown = Reflect.get(value, key)
    return field
  } catch {
    return undefined
  }
}

/** A field that is a string with something in it. */
export const text = (value: unknown, key: string): string | undefined => {
  const field = get(value, key)
  return typeof field === "string" && field.trim() !== "" ? field : undefined
}

/** The first of these fields that is a string with something in it. */
export const firstText = (value: unknown, keys: ReadonlyArray<string>): string | undefined => {
  for (const key of keys) {
    const field = text(value, key)
    if (field !== undefined) return field
  }
  return undefined
}

/** The elements of a list, at most `limit` of them; nothing for anything else. */
export const list = (value: unknown, limit: number): ReadonlyArray<unknown> => {
  try {
    return Array.isArray(value) ? value.slice(0, limit) : []
  } catch {
    return []
  }
}

/** Whether it can hold fields. */
export const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

/** Whether it is an Error of this program; a proxy that will not say is none. */
export const isError = (value: unknown): value is Error => {
  try {
    return value instanceof Error
  } catch {
    return false
  }
}

/** JSON read, or `undefined`, which no JSON is. */
export const parse = (json: string): unknown => {
  try {
    const value: unknown = JSON.parse(json)
    return value
  } catch {
    return undefined
  }
}

/** JSON written, or an empty string for what cannot be. */
export const stringify = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? ""
  } catch {
    return ""
  }
}
