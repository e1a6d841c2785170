package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// timeRange is what a panel is asked for.
type timeRange struct {
	from, to time.Time
	interval time.Duration
}

var macroName = regexp.MustCompile(`\$__(\w+)`)

// expandMacros does what the data source does before it sends a statement.
func expandMacros(sql string, over timeRange) (string, error) {
	var expanded strings.Builder
	for {
		at := macroName.FindStringSubmatchIndex(sql)
		if at == nil {
			expanded.WriteString(sql)
			return expanded.String(), nil
		}
		expanded.WriteString(sql[:at[0]])
		name, rest := sql[at[2]:at[3]], sql[at[1]:]
		argument := ""
		if strings.HasPrefix(rest, "(") {
			end := closingAt(rest)
			if end < 0 {
				return "", fmt.Errorf("$__%s has no closing parenthesis", name)
			}
			argument, rest = strings.TrimSpace(rest[1:end]), rest[end+1:]
		}
		text, err := macroText(name, argument, over)
		if err != nil {
			return "", err
		}
		expanded.WriteString(text)
		sql = rest
	}
}

// closingAt finds the parenthesis that closes the first one.
func closingAt(text string) int {
	depth := 0
	for at, letter := range text {
		switch letter {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return at
			}
		}
	}
	return -1
}

func macroText(name, column string, over timeRange) (string, error) {
	seconds := func(at time.Time) string { return fmt.Sprintf("toDateTime(%d)", at.Unix()) }
	millis := func(at time.Time) string { return fmt.Sprintf("fromUnixTimestamp64Milli(%d)", at.UnixMilli()) }
	date := func(at time.Time) string { return fmt.Sprintf("toDate('%s')", at.Format(time.DateOnly)) }
	between := func(form func(time.Time) string) string {
		return fmt.Sprintf("%s >= %s AND %s <= %s", column, form(over.from), column, form(over.to))
	}
	switch name {
	case "fromTime":
		return seconds(over.from), nil
	case "toTime":
		return seconds(over.to), nil
	case "fromTime_ms":
		return millis(over.from), nil
	case "toTime_ms":
		return millis(over.to), nil
	case "timeFilter":
		return between(seconds), nil
	case "timeFilter_ms":
		return between(millis), nil
	case "dateFilter":
		return between(date), nil
	case "timeInterval":
		return fmt.Sprintf("toStartOfInterval(toDateTime(%s), INTERVAL %d second)",
			column, max(int(over.interval.Seconds()), 1)), nil
	case "timeInterval_ms":
		return fmt.Sprintf("toStartOfInterval(toDateTime64(%s, 3), INTERVAL %d millisecond)",
			column, max(over.interval.Milliseconds(), 1)), nil
	case "interval_s":
		return fmt.Sprint(max(int(over.interval.Seconds()), 1)), nil
	}
	return "", fmt.Errorf("the data source has no macro $__%s", name)
}

// checkMacros compares with what the data source's documentation says that it sends.
func checkMacros() error {
	over := timeRange{time.UnixMilli(1767225600123).UTC(), time.UnixMilli(1769904000456).UTC(), 20 * time.Second}
	for macro, documented := range map[string]string{
		"$__fromTime":    "toDateTime(1767225600)",
		"$__toTime":      "toDateTime(1769904000)",
		"$__fromTime_ms": "fromUnixTimestamp64Milli(1767225600123)",
		"$__toTime_ms":   "fromUnixTimestamp64Milli(1769904000456)",
		"$__timeFilter(CAST(at AS DateTime) )": "CAST(at AS DateTime) >= toDateTime(1767225600) " +
			"AND CAST(at AS DateTime) <= toDateTime(1769904000)",
		"$__timeFilter_ms(at)": "at >= fromUnixTimestamp64Milli(1767225600123) " +
			"AND at <= fromUnixTimestamp64Milli(1769904000456)",
		"$__dateFilter(day)":            "day >= toDate('2026-01-01') AND day <= toDate('2026-02-01')",
		"$__timeInterval(at)":           "toStartOfInterval(toDateTime(at), INTERVAL 20 second)",
		"$__timeInterval_ms(at)":        "toStartOfInterval(toDateTime64(at, 3), INTERVAL 20000 millisecond)",
		"INTERVAL $__interval_s second": "INTERVAL 20 second",
	} {
		expanded, err := expandMacros(macro, over)
		if err != nil {
			return err
		}
		if expanded != documented {
			return fmt.Errorf("%s is expanded to %s", macro, expanded)
		}
	}
	return nil
}

var variableName = regexp.MustCompile(`\$\{(\w+)(?::(\w+))?\}|\$([a-z]\w*)`)

// fillIn puts the values of variables into a statement, as Grafana does before it hands it to the data source.
func fillIn(sql string, values map[string]string) (string, error) {
	var failed error
	filled := variableName.ReplaceAllStringFunc(sql, func(found string) string {
		parts := variableName.FindStringSubmatch(found)
		value, known := values[parts[1]+parts[3]]
		switch {
		case !known:
			failed = fmt.Errorf("%s is no variable of the dashboard", found)
		case parts[2] == "sqlstring":
			return "'" + strings.ReplaceAll(value, "'", "''") + "'"
		case parts[2] != "":
			failed = fmt.Errorf("%s has a format that this program does not know", found)
		}
		return value
	})
	return filled, failed
}
