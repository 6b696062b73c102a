// SPDX-License-Identifier: Apache-2.0
package redlatch.interop;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonPrimitive;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

/**
 * Calls any public method of a Redisson object by its name. Arguments are numbers, strings, lists of strings, and
 * durations: {"ms": 500} stands for a Duration, or for a long and the TimeUnit behind it, which is left out. The types
 * of the arguments choose between methods of one name. The result of an asynchronous method is waited for.
 */
final class Calls {
    private Calls() {
    }

    static Object make(Object object, String name, JsonArray arguments) throws Throwable {
        for (var method : object.getClass().getMethods()) {
            var values = method.getName().equals(name) ? values(method, arguments) : null;
            if (values != null) {
                return invoke(object, method, values);
            }
        }
        throw new IllegalArgumentException(object.getClass().getSimpleName() + " has no method " + name
                + " for the arguments " + arguments);
    }

    private static Object invoke(Object object, Method method, Object[] values) throws Throwable {
        method.setAccessible(true); // a public method of a class that need not be public
        try {
            var result = method.invoke(object, values);
            return result instanceof CompletionStage<?> stage ? stage.toCompletableFuture().get() : result;
        } catch (InvocationTargetException error) {
            throw error.getCause();
        }
    }

    /** Returns the values of a method's parameters, or null if the arguments do not fit the method. */
    private static Object[] values(Method method, JsonArray arguments) {
        var types = method.getParameterTypes();
        var generic = method.getGenericParameterTypes();
        var values = new Object[types.length];
        var unitAt = List.of(types).indexOf(TimeUnit.class);
        var used = 0;
        for (var index = 0; index < types.length; index++) {
            if (types[index] == TimeUnit.class) {
                values[index] = TimeUnit.MILLISECONDS;
                continue;
            }
            if (used == arguments.size()) {
                return null;
            }
            values[index] = value(generic[index], types[index], index < unitAt, arguments.get(used++));
            if (values[index] == null) {
                return null;
            }
        }
        return used == arguments.size() ? values : null;
    }

    private static Object value(Type generic, Class<?> type, boolean hasUnit, JsonElement argument) {
        if (argument.isJsonObject()) {
            var milliseconds = argument.getAsJsonObject().get("ms").getAsLong();
            if (type == Duration.class) {
                return Duration.ofMillis(milliseconds);
            }
            return type == long.class && hasUnit ? milliseconds : null;
        }
        if (argument.isJsonArray()) {
            return generic.getTypeName().equals("java.util.List<java.lang.String>") ? strings(argument) : null;
        }
        return argument.isJsonPrimitive() ? primitive(type, hasUnit, argument.getAsJsonPrimitive()) : null;
    }

    private static Object primitive(Class<?> type, boolean hasUnit, JsonPrimitive argument) {
        if (argument.isString()) {
            return type == String.class ? argument.getAsString() : null;
        }
        if (!argument.isNumber()) {
            return null;
        }
        if (type == int.class) {
            return argument.getAsInt();
        }
        // In tryAcquire(int, long, TimeUnit) the int is no duration; a long before a unit always is one.
        return type == long.class && !hasUnit ? argument.getAsLong() : null;
    }

    private static List<String> strings(JsonElement array) {
        var strings = new ArrayList<String>();
        for (var element : array.getAsJsonArray()) {
            strings.add(element.getAsString());
        }
        return strings;
    }
}
