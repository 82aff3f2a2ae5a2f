/** Makes the calls of other frameworks' models patient: what their packages have in common. */
import { cut, type PatienceOptions, type Patient, type PatientCall } from "../PatientCall.ts"

/** What the patience of calls is made from, where a call cannot leave memory to wait. */
export type BridgeOptions = Omit<PatienceOptions, "park">

/** The response of a call that is made as a whole: its last element. */
export const whole = async <A>(
  patient: Patient,
  call: Pick<PatientCall<A>, "call"> & Partial<PatientCall<A>>
): Promise<A> => {
  let last: { readonly element: A } | undefined
  for await (const element of patient({ isContent: () => true, ...call })) last = { element }
  if (last === undefined) throw cut()
  return last.element
}

/**
 * An object with members in place of its own, without a change to it. With `bound` the other members are called on the object itself, whose class
 * may have private fields; without, they call the new ones.
 */
export const view = <T extends object>(target: T, members: object, bound?: "bound"): T =>
  new Proxy(target, {
    get: (_, key, receiver) => {
      if (Object.hasOwn(members, key)) return Reflect.get(members, key, receiver)
      const value: unknown = Reflect.get(target, key, bound === undefined ? receiver : target)
      return bound !== undefined && typeof value === "function" ? value.bind(target) : value
    }
  })

/** Whether a value of a response has something in it. */
export const isFilled = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0)

/** Whether a part of a stream is content, by the names of parts that the AI SDK and Effect AI share. An empty delta is none (rule C8). */
export const isContentPart = ({ delta, type }: { readonly type: string; readonly delta?: unknown }): boolean =>
  type.endsWith("-delta") ? delta !== "" : CONTENT.has(type)

// --- internal

const CONTENT: ReadonlySet<string> = new Set([
  "custom",
  "file",
  "reasoning-file",
  "source",
  "tool-approval-request",
  "tool-call",
  "tool-input-start",
  "tool-params-start",
  "tool-result"
])
