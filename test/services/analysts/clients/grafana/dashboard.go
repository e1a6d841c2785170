package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"
)

type dashboard struct {
	Time struct {
		From string
	}
	Templating struct {
		List []struct {
			Name, Type, Query string
		}
	}
	Panels []panel
}

type panel struct {
	Title, Type, Interval string
	TimeFrom              string
	Targets               []struct {
		Format int
		RawSQL string `json:"rawSql"`
	}
}

func readDashboard(file string) (dashboard, error) {
	var read dashboard
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	return read, err
}

var durationForm = regexp.MustCompile(`^(?:now-)?(\d+)([smhd])$`)

// duration reads a duration of Grafana, such as 5m, 30d or now-30d.
func duration(text string) (time.Duration, error) {
	parts := durationForm.FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("%q is no duration", text)
	}
	number, err := strconv.Atoi(parts[1])
	units := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	return time.Duration(number) * units[parts[2]], err
}

// rangeOf is the time range of a panel: its own, or the dashboard's. A screen has some 1,000 points.
func (shown panel) rangeOf(whole dashboard, now time.Time) (timeRange, error) {
	length := whole.Time.From
	if shown.TimeFrom != "" {
		length = shown.TimeFrom
	}
	back, err := duration(length)
	if err != nil {
		return timeRange{}, err
	}
	interval := back / 1_000
	if shown.Interval != "" {
		atLeast, err := duration(shown.Interval)
		if err != nil {
			return timeRange{}, err
		}
		interval = max(interval, atLeast)
	}
	return timeRange{now.Add(-back), now, interval}, nil
}
