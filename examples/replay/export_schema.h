/* SPDX-License-Identifier: MIT
 *
 * Fields of the messages of ROS 2 and Foxglove that export.c writes, in the form of MCAP's "ros2msg": a message, and
 * behind it those that it is made of.
 */
#ifndef EXPORT_SCHEMA_H
#define EXPORT_SCHEMA_H

#define OF(name, fields)                                                                                               \
    "================================================================================\nMSG: " name "\n" fields

#define TIME_OF OF("builtin_interfaces/Time", "int32 sec\nuint32 nanosec\n")
#define HEADER "std_msgs/Header header\n"
#define HEADER_OF OF("std_msgs/Header", "builtin_interfaces/Time stamp\nstring frame_id\n") TIME_OF
#define VECTOR_OF OF("geometry_msgs/Vector3", "float64 x\nfloat64 y\nfloat64 z\n")
#define POINT_OF OF("geometry_msgs/Point", "float64 x\nfloat64 y\nfloat64 z\n")
#define QUATERNION_OF OF("geometry_msgs/Quaternion", "float64 x\nfloat64 y\nfloat64 z\nfloat64 w\n")
#define POSE_OF                                                                                                        \
    OF("geometry_msgs/Pose", "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation\n")                   \
    POINT_OF QUATERNION_OF

static const char image_schema[] = HEADER "string format\nuint8[] data\n" HEADER_OF;

static const char raw_image_schema[] = HEADER
    "uint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\nuint32 step\nuint8[] data\n" HEADER_OF;

static const char info_schema[] = HEADER
    "uint32 height\nuint32 width\nstring distortion_model\nfloat64[] d\nfloat64[9] k\nfloat64[9] r\nfloat64[12] p\n"
    "uint32 binning_x\nuint32 binning_y\nsensor_msgs/RegionOfInterest roi\n" HEADER_OF OF(
        "sensor_msgs/RegionOfInterest",
        "uint32 x_offset\nuint32 y_offset\nuint32 height\nuint32 width\nbool do_rectify\n");

static const char imu_schema[] = HEADER
    "geometry_msgs/Quaternion orientation\nfloat64[9] orientation_covariance\ngeometry_msgs/Vector3 angular_velocity\n"
    "float64[9] angular_velocity_covariance\ngeometry_msgs/Vector3 linear_acceleration\n"
    "float64[9] linear_acceleration_covariance\n" HEADER_OF VECTOR_OF QUATERNION_OF;

static const char tf_schema[] = "geometry_msgs/TransformStamped[] transforms\n" OF(
    "geometry_msgs/TransformStamped", HEADER "string child_frame_id\ngeometry_msgs/Transform transform\n")
    OF("geometry_msgs/Transform", "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation\n")
        HEADER_OF VECTOR_OF QUATERNION_OF;

static const char odometry_schema[] = HEADER
    "string child_frame_id\ngeometry_msgs/PoseWithCovariance pose\ngeometry_msgs/TwistWithCovariance twist\n" OF(
        "geometry_msgs/PoseWithCovariance", "geometry_msgs/Pose pose\nfloat64[36] covariance\n")
        OF("geometry_msgs/TwistWithCovariance", "geometry_msgs/Twist twist\nfloat64[36] covariance\n")
            OF("geometry_msgs/Twist", "geometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular\n")
                HEADER_OF POSE_OF VECTOR_OF;

static const char path_schema[] = HEADER
    "geometry_msgs/PoseStamped[] poses\n" OF("geometry_msgs/PoseStamped", HEADER "geometry_msgs/Pose pose\n")
        HEADER_OF POSE_OF;

static const char points_schema[] = HEADER
    "uint32 height\nuint32 width\nsensor_msgs/PointField[] fields\nbool is_bigendian\nuint32 point_step\n"
    "uint32 row_step\nuint8[] data\nbool is_dense\n" HEADER_OF OF(
        "sensor_msgs/PointField", "string name\nuint32 offset\nuint8 datatype\nuint32 count\n");

static const char scan_schema[] = HEADER
    "float32 angle_min\nfloat32 angle_max\nfloat32 angle_increment\nfloat32 time_increment\nfloat32 scan_time\n"
    "float32 range_min\nfloat32 range_max\nfloat32[] ranges\nfloat32[] intensities\n" HEADER_OF;

static const char log_schema[] =
    "builtin_interfaces/Time stamp\nuint8 level\nstring name\nstring msg\nstring file\nstring function\n"
    "uint32 line\n" TIME_OF;

static const char tracks_schema[] =
    "foxglove_msgs/CircleAnnotation[] circles\nfoxglove_msgs/PointsAnnotation[] points\n"
    "foxglove_msgs/TextAnnotation[] texts\n" OF(
        "foxglove_msgs/CircleAnnotation",
        "builtin_interfaces/Time timestamp\nfoxglove_msgs/Point2 position\nfloat64 diameter\nfloat64 thickness\n"
        "foxglove_msgs/Color fill_color\nfoxglove_msgs/Color outline_color\n")
        OF("foxglove_msgs/PointsAnnotation",
           "builtin_interfaces/Time timestamp\nuint8 type\nfoxglove_msgs/Point2[] points\n"
           "foxglove_msgs/Color outline_color\nfoxglove_msgs/Color[] outline_colors\nfoxglove_msgs/Color fill_color\n"
           "float64 thickness\n")
            OF("foxglove_msgs/TextAnnotation",
               "builtin_interfaces/Time timestamp\nfoxglove_msgs/Point2 position\nstring text\nfloat64 font_size\n"
               "foxglove_msgs/Color text_color\nfoxglove_msgs/Color background_color\n")
                OF("foxglove_msgs/Point2", "float64 x\nfloat64 y\n")
                    OF("foxglove_msgs/Color", "float64 r\nfloat64 g\nfloat64 b\nfloat64 a\n") TIME_OF;

#endif
